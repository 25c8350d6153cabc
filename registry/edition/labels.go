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
	// LabelUseDataForName is on foreign Secrets: the data of one are those of the configuration that it names.
	LabelUseDataForName = "secrets-manager-use-data-for-name"
)

// Labels of our own. An edition that Gardener has made has neither, and does not get them.
const (
	// LabelGeneration numbers the editions of a name, from 1. A restore keeps it, which makes all times of creation equal.
	LabelGeneration = "certrotation.dev/generation"
	// LabelKeyOutside is on an authority whose key is not in the cluster.
	LabelKeyOutside = "certrotation.dev/key-outside"
)

// Values of labels.
const (
	ManagedBy = "secrets-manager"
	True      = "true"
)

// owned are the labels that say what the library says, in the order above. A Secret has no other value of them, and none of
// them that is not wanted; all other labels are somebody else's and stay.
var owned = []string{
	LabelName, LabelManagedBy, LabelManagerIdentity, LabelChecksumConfig, LabelChecksumSigningCA, LabelBundleFor, LabelPersist,
	LabelLastRotationInitiationTime, LabelIssuedAtTime, LabelValidUntilTime, LabelRenewAfterValidityPercentage, LabelUseDataForName,
}

// Owned says whether a label is one that only the library may set.
func Owned(key string) bool {
	return key == LabelGeneration || key == LabelKeyOutside || slices.Contains(owned, key)
}

// Relabel is what has to change of the labels of an object for it to have the wanted ones: values by their keys, nil for a label
// that goes. It is empty if nothing has to change.
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

// maxLabel is how long the value of a label can be.
const maxLabel = 63

// bundleSuffix is what the name of a bundle ends in, before its hash.
const bundleSuffix = "-bundle"
