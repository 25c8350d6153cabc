// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"fmt"
	"io"
	"log/slog"
)

var (
	_ fmt.Formatter  = Pair{}
	_ slog.LogValuer = Pair{}
)

// String names the certificate of the pair and withholds the key.
func (p Pair) String() string {
	if p.Certificate == nil {
		return "Pair{}"
	}
	return fmt.Sprintf("Pair{subject %q, fingerprint %s, key withheld}", p.Certificate.Subject, p.Certificate.Fingerprint)
}

// Format writes String for every verb and flag, %#v and %x included. It has a
// value receiver so that a copied Pair is covered as well.
func (p Pair) Format(state fmt.State, _ rune) {
	// fmt keeps the state in memory, and its Write does not fail.
	_, _ = io.WriteString(state, p.String())
}

// LogValue is what log/slog writes for a Pair.
func (p Pair) LogValue() slog.Value {
	return slog.StringValue(p.String())
}

// MarshalLog is what a logr sink, and so klog, writes for a Pair.
func (p Pair) MarshalLog() any {
	return p.String()
}
