// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import "slices"

// Labels of a Secret, as Gardener's SecretsManager writes them.
const (
	LabelName                         = "name"
	LabelManagedBy                    = "managed-by"
	LabelManagerIdentity              = "manager-identity"
	LabelChecksumConfig               = "checksum-of-config"
	LabelChecksumSigningCA            = "checksum-of-signing-ca"
	LabelBundleFor                    = "bundle-for"
	LabelPersist                      = "persist"
	LabelLastRotationInitiationTime   = "last-rotation-initiation-time"
	LabelIssuedAtTime                 = "issued-at-time"
	LabelValidUntilTime               = "valid-until-time"
	LabelRenewAfterValidityPercentage = "renew-after-validity-percentage"
	// LabelUseDataForName is on foreign Secrets: it names the configuration that uses their data.
	LabelUseDataForName = "secrets-manager-use-data-for-name"
)

// Labels of our own. An edition that Gardener made has neither, and does not get them.
const (
	// LabelGeneration numbers the editions of a name, from 1. A restore keeps it, but makes all creation times equal.
	LabelGeneration = "certrotation.dev/generation"
	// LabelKeyOutside marks an authority whose key is not in the cluster.
	LabelKeyOutside = "certrotation.dev/key-outside"
)

// Values of labels.
const (
	ManagedBy = "secrets-manager"
	True      = "true"
)

// owned are the labels that only the library sets. Relabel removes those that are not wanted. All other labels belong
// to others and stay.
var owned = []string{
	LabelName, LabelManagedBy, LabelManagerIdentity, LabelChecksumConfig, LabelChecksumSigningCA, LabelBundleFor, LabelPersist,
	LabelLastRotationInitiationTime, LabelIssuedAtTime, LabelValidUntilTime, LabelRenewAfterValidityPercentage, LabelUseDataForName,
}

// Owned reports whether only the library may set a label.
func Owned(key string) bool {
	return key == LabelGeneration || key == LabelKeyOutside || slices.Contains(owned, key)
}

// Relabel returns the changes that give an object the wanted labels: values by key, nil for a label to remove. It is
// empty if nothing changes.
func Relabel(has, wanted map[string]string) map[string]any {
	changes := map[string]any{}
	for key, value := range wanted {
		if now, ok := has[key]; !ok || now != value {
			changes[key] = value
		}
	}
	for _, key := range owned {
		if _, ok := has[key]; ok {
			if _, ok := wanted[key]; !ok {
				changes[key] = nil
			}
		}
	}
	return changes
}

const maxLabel = 63

// bundleSuffix is the end of a bundle's name, before its hash.
const bundleSuffix = "-bundle"
