// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
)

// Reason says what kind of fault a Finding is.
type Reason string

const (
	// NotComplete is a generation without a readable generation.json, or with that of another one.
	NotComplete Reason = "NotComplete"
	// MissingFile was installed and is not there.
	MissingFile Reason = "MissingFile"
	// UnexpectedFile is there and was not installed, or is no plain file or directory.
	UnexpectedFile Reason = "UnexpectedFile"
	// WrongMode is a mode other than 0600 of a file, or 0700 of a directory.
	WrongMode Reason = "WrongMode"
	// HashMismatch is a file that is not what was installed.
	HashMismatch Reason = "HashMismatch"
	// Unreadable is what the disk or its permissions do not give.
	Unreadable Reason = "Unreadable"
	// BadCertificate is a bundle, certificate or key that cannot be parsed.
	BadCertificate Reason = "BadCertificate"
	// KeyMismatch is a key that belongs to another certificate.
	KeyMismatch Reason = "KeyMismatch"
	// UnknownAuthority is a leaf that no anchor of the same generation has signed.
	UnknownAuthority Reason = "UnknownAuthority"
	// Expired is a leaf that must not replace a valid one.
	Expired Reason = "Expired"

	// NoPointer is a directory without a pointer.
	NoPointer Reason = "NoPointer"
	// BadPointer is a pointer that is not what the installer writes.
	BadPointer Reason = "BadPointer"
	// PointerDangling is a pointer to a generation that is not there.
	PointerDangling Reason = "PointerDangling"

	// NoManifest is a missing manifest.
	NoManifest Reason = "NoManifest"
	// BadManifest is a manifest that cannot be parsed, or that the installer has not made.
	BadManifest Reason = "BadManifest"
	// MissingDirectory is what the manifest mounts and is not there.
	MissingDirectory Reason = "MissingDirectory"

	// Leftover is what an interrupted run has left; the next one removes it.
	Leftover Reason = "Leftover"
	// InUse is what Prune keeps although it was up for removal.
	InUse Reason = "InUse"
	// NotARevision is a directory NAME-pod-SUFFIX whose suffix is no revision.
	NotARevision Reason = "NotARevision"
)

// Finding is something that is not as the installer leaves it. It holds no content of a file.
type Finding struct {
	Reason  Reason
	Path    string // below the resource directory, the directory of manifests, or the generation
	Message string
}

// Error makes a Finding an error.
func (f Finding) Error() string { return f.Path + ": " + f.Message }

func finding(reason Reason, path, format string, args ...any) Finding {
	return Finding{Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)}
}

// asError joins findings; errors.As finds the first of them.
func asError(findings []Finding) error {
	faults := make([]error, 0, len(findings))
	for _, f := range findings {
		faults = append(faults, f)
	}
	return errors.Join(faults...)
}

// below puts the paths of findings below a directory.
func below(dir string, findings []Finding) []Finding {
	out := make([]Finding, 0, len(findings))
	for _, f := range findings {
		f.Path = dir + "/" + f.Path
		out = append(out, f)
	}
	return out
}
