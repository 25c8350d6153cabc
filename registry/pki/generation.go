// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"strconv"
	"strings"
	"time"
)

// GenerationName is the common name of the signer that is made at now for a
// Secret: "<namespace>_<name>@<unix seconds>". Each generation of a signer has a
// subject of its own this way, which is what lets a TLS probe tell them apart.
func GenerationName(namespace, name string, now time.Time) string {
	return generationPrefix(namespace, name) + strconv.FormatInt(now.Unix(), 10)
}

// IsGenerationOf tells whether GenerationName makes commonName for this Secret at
// some time.
func IsGenerationOf(commonName, namespace, name string) bool {
	seconds, found := strings.CutPrefix(commonName, generationPrefix(namespace, name))
	if !found {
		return false
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	// Only the canonical text counts: no sign, no leading zeros.
	return err == nil && strconv.FormatInt(unix, 10) == seconds
}

func generationPrefix(namespace, name string) string {
	return namespace + "_" + name + "@"
}
