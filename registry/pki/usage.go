// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"slices"
)

// Usage is an extended key usage that the rotation of a PKI cares about.
type Usage string

// The usages that are issued and reported.
const (
	ServerAuth Usage = "ServerAuth"
	ClientAuth Usage = "ClientAuth"
)

// usagesOf reports ServerAuth before ClientAuth and leaves out everything else.
// "Any" stands for both, as every verifier reads it.
func usagesOf(extended []x509.ExtKeyUsage) []Usage {
	named := func(usage x509.ExtKeyUsage) bool {
		return slices.Contains(extended, usage) || slices.Contains(extended, x509.ExtKeyUsageAny)
	}
	var usages []Usage
	if named(x509.ExtKeyUsageServerAuth) {
		usages = append(usages, ServerAuth)
	}
	if named(x509.ExtKeyUsageClientAuth) {
		usages = append(usages, ClientAuth)
	}
	return usages
}

// extended is the X.509 form of usages that are known to be valid.
func extended(usages []Usage) []x509.ExtKeyUsage {
	var out []x509.ExtKeyUsage
	for _, usage := range usages {
		switch usage {
		case ServerAuth:
			out = append(out, x509.ExtKeyUsageServerAuth)
		case ClientAuth:
			out = append(out, x509.ExtKeyUsageClientAuth)
		}
	}
	return out
}
