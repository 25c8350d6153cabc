// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodedisk

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"certrotation.dev/registry/pki"
)

// Reason says what kind of defect there is: a word in CamelCase for programs.
type Reason string

// Reasons.
const (
	// ManifestMissing is a manifest that is not there, ManifestUnreadable one that kubelet cannot use.
	ManifestMissing    Reason = "ManifestMissing"
	ManifestUnreadable Reason = "ManifestUnreadable"
	// ManifestForeign is a manifest that the installer has not made.
	ManifestForeign Reason = "ManifestForeign"
	// DirectoryMissing is what the manifest mounts and is not there.
	DirectoryMissing Reason = "DirectoryMissing"
	// PointerMissing is a directory without a pointer, PointerBroken a pointer to something else than a generation beside it.
	PointerMissing Reason = "PointerMissing"
	PointerBroken  Reason = "PointerBroken"

	// GenerationIncomplete is a generation without a readable generation.json, or with that of another one.
	GenerationIncomplete Reason = "GenerationIncomplete"
	// FileMissing was installed and is not there.
	FileMissing Reason = "FileMissing"
	// FileUnexpected is there and was not installed, or is no plain file or directory.
	FileUnexpected Reason = "FileUnexpected"
	// FileMode is a mode other than 0600 of a file, or 0700 of a directory.
	FileMode Reason = "FileMode"
	// HashMismatch is a file that is not what was installed.
	HashMismatch Reason = "HashMismatch"
	// Unreadable is what the disk or its permissions do not give.
	Unreadable Reason = "Unreadable"
	// Unparsable is a bundle, certificate or key that is none.
	Unparsable Reason = pki.ReasonUnparsable
	// KeyMismatch is a key that belongs to another certificate.
	KeyMismatch Reason = pki.ReasonKeyMismatch
	// Untrusted is a leaf that no anchor of the same generation has signed.
	Untrusted Reason = "Untrusted"
	// Expired is a leaf that has expired, or must not replace a valid one.
	Expired Reason = pki.ReasonExpired
)

// Defect is something that is not as the installer leaves it. It has no content of a file.
type Defect struct {
	Reason  Reason
	Path    string
	Message string
}

// Error makes a Defect an error.
func (d Defect) Error() string { return d.Path + ": " + d.Message }

// Harmless tells whether a process that uses the files does not notice. The installer makes anew what has such a defect, a
// person is only warned of it.
func (d Defect) Harmless() bool {
	return d.Reason == FileMode || d.Reason == FileUnexpected || d.Reason == ManifestForeign
}

// Defects of one thing.
type Defects []Defect

// Add notes a defect.
func (d *Defects) Add(reason Reason, path, format string, args ...any) {
	*d = append(*d, Defect{Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (d *Defects) addUnseen(path string, err error) {
	d.Add(Unreadable, path, "it cannot be looked at: %v", err)
}

func (d *Defects) addUnread(path string, err error) {
	d.Add(Unreadable, path, "it cannot be read: %v", err)
}

func (d *Defects) addMode(path string, is, want fs.FileMode) {
	d.Add(FileMode, path, "its mode is %v, want %v", is, want)
}

// Has tells whether one of them has the reason.
func (d Defects) Has(reason Reason) bool {
	return slices.ContainsFunc(d, func(defect Defect) bool { return defect.Reason == reason })
}

// At tells whether one of them is at the path.
func (d Defects) At(path string) bool {
	return slices.ContainsFunc(d, func(defect Defect) bool { return defect.Path == path })
}

// Err joins the defects to one error, nil if there are none; errors.As finds the first of them.
func (d Defects) Err() error {
	faults := make([]error, 0, len(d))
	for _, defect := range d {
		faults = append(faults, defect)
	}
	return errors.Join(faults...)
}
