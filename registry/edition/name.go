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

// Wanted is what a Secret is to be, as far as it decides on its name and its labels.
type Wanted struct {
	// Name of the configuration, and Identity of the instance that asks for it.
	Name, Identity string
	// Config is the structural hash of the configuration.
	Config uint64
	// Signer is DataChecksum of the authority that signs it, "" for what is not signed.
	Signer string
	// Rotation is when its rotation was last begun, in Unix seconds, "" for never.
	Rotation string
	// BundleFor is the name of what this is the bundle of, "" for what is none.
	BundleFor string
	Persist   bool
	// BareName leaves the hash of the configuration out of the name, as Gardener had it for authorities that were never rotated.
	BareName bool
	// RenewAfter is the percentage of its validity after which it is renewed, 0 for the usual one.
	RenewAfter int
	// Labels are those of the caller. They do not replace one of the library.
	Labels map[string]string
}

// ObjectName is the name of the Secret:
//
//	NAME-infix-suffix    infix: 8 digits of the SHA-256 of the two checksums; suffix: 5 of that of the time of rotation, if any
//
// Who asks for the same therefore asks for the same object, and of those who create it at once one wins.
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

// SignerLabel is the checksum of a signer as it fits into a label.
func SignerLabel(checksum string) string { return checksum[:min(len(checksum), maxLabel)] }

// ObjectLabels are the labels of the Secret, without those of its lifetime.
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

// DataChecksum is the checksum of the data of a Secret: the SHA-256 of the SHA-256 of the values, in hexadecimal, in the order of
// their keys.
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

// UnixText is a moment as the labels have it.
func UnixText(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// parseUnix reads such a moment. What is no canonical number is none.
func parseUnix(text string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != text {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).UTC(), true
}

// IssuedAt is when a Secret without a certificate was first seen, by its labels; now, if they do not say it.
func IssuedAt(labels map[string]string, now time.Time) time.Time {
	if at, ok := parseUnix(labels[LabelIssuedAtTime]); ok {
		return at
	}
	return now
}
