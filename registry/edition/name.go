// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Digits of the hashes in the name of an object.
const (
	digitsOfConfig = 8
	digitsOfTime   = 5
)

// Wanted is the part of a wanted Secret that decides its name and its labels.
type Wanted struct {
	// Name of the configuration, and Identity of the instance that asks for it.
	Name, Identity string
	// Config is the structural hash of the configuration.
	Config uint64
	// Signer is DataChecksum of the authority that signs it, "" if none signs it.
	Signer string
	// Rotation is when its last rotation began, in Unix seconds, "" for never.
	Rotation string
	// BundleFor is the name that this is the bundle of, "" if it is no bundle.
	BundleFor string
	Persist   bool
	// BareName leaves the hash of the configuration out of the name, as Gardener once did for authorities that were
	// never rotated.
	BareName bool
	// RenewAfter is the percentage of its validity after which it is renewed, 0 for the default.
	RenewAfter int
	// Labels are the caller's labels. They replace none of the library's.
	Labels map[string]string
}

// ObjectName returns the name of the Secret:
//
//	NAME-infix-suffix
//	     infix            8 digits of the SHA-256 of the two checksums
//	           suffix     5 digits of the SHA-256 of the time of rotation, if any
//
// So equal requests name one object. If several callers create it at once, one wins.
func (w *Wanted) ObjectName() string {
	name := w.Name
	if !w.BareName {
		name += "-" + hexHash([]byte(w.configLabel() + w.signerLabel()))[:digitsOfConfig]
	}
	if w.Rotation != "" {
		name += "-" + hexHash([]byte(w.Rotation))[:digitsOfTime]
	}
	return name
}

func (w *Wanted) configLabel() string { return strconv.FormatUint(w.Config, 10) }

func (w *Wanted) signerLabel() string { return SignerLabel(w.Signer) }

// SignerLabel truncates the checksum of a signer to fit into a label.
func SignerLabel(checksum string) string { return checksum[:min(len(checksum), maxLabel)] }

// ObjectLabels returns the labels of the Secret, without those of its lifetime.
func (w *Wanted) ObjectLabels() map[string]string {
	out := map[string]string{}
	for key, value := range w.Labels {
		if !Owned(key) {
			out[key] = value
		}
	}
	maps.Copy(out, map[string]string{
		LabelName: w.Name, LabelManagedBy: ManagedBy, LabelManagerIdentity: w.Identity,
		LabelChecksumConfig: w.configLabel(), LabelLastRotationInitiationTime: w.Rotation,
	})
	for key, value := range map[string]string{LabelChecksumSigningCA: w.signerLabel(), LabelBundleFor: w.BundleFor} {
		if value != "" {
			out[key] = value
		}
	}
	if w.Persist {
		out[LabelPersist] = True
	}
	if w.RenewAfter > 0 {
		out[LabelRenewAfterValidityPercentage] = strconv.Itoa(w.RenewAfter)
	}
	return out
}

// DataChecksum returns the checksum of a Secret's data: the SHA-256 of the hexadecimal SHA-256 sums of the values, in
// the order of their keys. It is hexadecimal too.
func DataChecksum(data map[string][]byte) string {
	var all strings.Builder
	for _, key := range slices.Sorted(maps.Keys(data)) {
		all.WriteString(hexHash(data[key]))
	}
	return hexHash([]byte(all.String()))
}

func hexHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// UnixText encodes a time as the labels do.
func UnixText(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// parseUnix decodes a time of a label. It accepts canonical numbers only.
func parseUnix(text string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != text {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).UTC(), true
}

// IssuedAt returns when a Secret without a certificate was first seen, by its labels, or now if they do not say.
func IssuedAt(labels map[string]string, now time.Time) time.Time {
	if at, ok := parseUnix(labels[LabelIssuedAtTime]); ok {
		return at
	}
	return now
}
