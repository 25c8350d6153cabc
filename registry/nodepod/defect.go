// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"certrotation.dev/registry/pki"
)

// Reason is the kind of a defect: a CamelCase word for programs.
type Reason string

// Reasons.
const (
	// ManifestMissing: there is no manifest. ManifestUnreadable: kubelet cannot use it.
	ManifestMissing    Reason = "ManifestMissing"
	ManifestUnreadable Reason = "ManifestUnreadable"
	// ManifestForeign: the installer did not write the manifest.
	ManifestForeign Reason = "ManifestForeign"
	// DirectoryMissing: the manifest mounts a directory that does not exist.
	DirectoryMissing Reason = "DirectoryMissing"
	// PointerMissing: a directory has no pointer. PointerBroken: it does not point at a generation beside it.
	PointerMissing Reason = "PointerMissing"
	PointerBroken  Reason = "PointerBroken"

	// GenerationIncomplete: a generation has no readable generation.json, or the one of another generation.
	GenerationIncomplete Reason = "GenerationIncomplete"
	// FileMissing: an installed file does not exist.
	FileMissing Reason = "FileMissing"
	// FileUnexpected: a file was not installed, or is neither a plain file nor a directory.
	FileUnexpected Reason = "FileUnexpected"
	// FileMode: the mode of a file is not 0600, or of a directory not 0700.
	FileMode Reason = "FileMode"
	// HashMismatch: a file differs from what was installed.
	HashMismatch Reason = "HashMismatch"
	// Unreadable: the disk or its permissions prevent reading.
	Unreadable Reason = "Unreadable"
	// Unparsable: a bundle, certificate or key cannot be parsed.
	Unparsable Reason = pki.ReasonUnparsable
	// KeyMismatch: a key belongs to another certificate.
	KeyMismatch Reason = pki.ReasonKeyMismatch
	// Untrusted: no anchor of the same generation has signed the leaf.
	Untrusted Reason = "Untrusted"
	// Expired: a leaf has expired, or must not replace a valid one.
	Expired Reason = pki.ReasonExpired
)

// Defect is a deviation from the state that the installer leaves. It never quotes the content of a file.
type Defect struct {
	Reason  Reason
	Path    string
	Message string
}

// Error implements error.
func (d Defect) Error() string { return d.Path + ": " + d.Message }

// Harmless reports whether a process that uses the files does not notice the defect. The installer reinstalls even
// then; an operator only gets a warning.
func (d Defect) Harmless() bool {
	return d.Reason == FileMode || d.Reason == FileUnexpected || d.Reason == ManifestForeign
}

// Defects of one object.
type Defects []Defect

// Add appends a defect.
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

// Has reports whether a defect has the reason.
func (d Defects) Has(reason Reason) bool {
	return slices.ContainsFunc(d, func(defect Defect) bool { return defect.Reason == reason })
}

// At reports whether a defect is at the path.
func (d Defects) At(path string) bool {
	return slices.ContainsFunc(d, func(defect Defect) bool { return defect.Path == path })
}

// Err joins the defects into one error, nil if there are none. errors.As finds the first defect.
func (d Defects) Err() error {
	faults := make([]error, 0, len(d))
	for _, defect := range d {
		faults = append(faults, defect)
	}
	return errors.Join(faults...)
}
