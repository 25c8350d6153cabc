// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"slices"
)

// Usage is an extended key usage that certrotation issues and reports.
type Usage string

// The usages, in the order of Certificate.Usages.
const (
	ServerAuth      Usage = "ServerAuth"
	ClientAuth      Usage = "ClientAuth"
	CodeSigning     Usage = "CodeSigning"
	EmailProtection Usage = "EmailProtection"
	TimeStamping    Usage = "TimeStamping"
	OCSPSigning     Usage = "OCSPSigning"
)

// usages are the X.509 forms.
var usages = []struct {
	usage    Usage
	extended x509.ExtKeyUsage
}{
	{ServerAuth, x509.ExtKeyUsageServerAuth},
	{ClientAuth, x509.ExtKeyUsageClientAuth},
	{CodeSigning, x509.ExtKeyUsageCodeSigning},
	{EmailProtection, x509.ExtKeyUsageEmailProtection},
	{TimeStamping, x509.ExtKeyUsageTimeStamping},
	{OCSPSigning, x509.ExtKeyUsageOCSPSigning},
}

// Usages returns all usages.
func Usages() []Usage {
	var out []Usage
	for _, known := range usages {
		out = append(out, known.usage)
	}
	return out
}

// usagesOf ignores other usages. "Any" stands for ServerAuth and ClientAuth, as every verifier reads it.
func usagesOf(extended []x509.ExtKeyUsage) []Usage {
	each := slices.Contains(extended, x509.ExtKeyUsageAny)
	var out []Usage
	for _, known := range usages {
		if slices.Contains(extended, known.extended) || each && (known.usage == ServerAuth || known.usage == ClientAuth) {
			out = append(out, known.usage)
		}
	}
	return out
}

// usageOf returns "" for a usage that certrotation does not issue.
func usageOf(extended x509.ExtKeyUsage) Usage {
	for _, known := range usages {
		if known.extended == extended {
			return known.usage
		}
	}
	return ""
}

// extended converts valid usages to their X.509 form.
func extended(of []Usage) []x509.ExtKeyUsage {
	var out []x509.ExtKeyUsage
	for _, known := range usages {
		if slices.Contains(of, known.usage) {
			out = append(out, known.extended)
		}
	}
	return out
}
