// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/registry/trust"
)

// First labels of the names of records.
const (
	prefixRoster   = "roster"
	prefixRotate   = "rotate"
	prefixAbort    = "abort"
	prefixInstall  = "install"
	prefixWaiver   = "waiver"
	prefixEvidence = "evidence"
	prefixRefusal  = "refusal"
	prefixClock    = "clock"
)

// hashed marks, at the end of the first label, a name that ends in a hash of its parts.
const hashed = "-hash"

// RosterName returns the name of a trust domain's roster.
func RosterName(domain string) string { return nameOf(prefixRoster, domain) }

// ClockName returns the name of a trust domain's clock record.
func ClockName(domain string) string { return nameOf(prefixClock, domain) }

// RequestName returns the name of a request for a Secret. There is one of each kind at a time.
func RequestName(kind trust.RequestKind, secret string) string {
	switch kind {
	case trust.RequestAbort:
		return nameOf(prefixAbort, secret)
	case trust.RequestInstall:
		return nameOf(prefixInstall, secret)
	case trust.RequestRotate:
	}
	return nameOf(prefixRotate, secret)
}

// WaiverName returns the name of a member's waiver.
func WaiverName(domain, party, member string) string {
	return nameOf(prefixWaiver, domain, party, member)
}

// EvidenceName returns the name of a member's evidence.
func EvidenceName(domain, party, member string) string {
	return nameOf(prefixEvidence, domain, party, member)
}

// RefusalName returns the name of the refused write to an object, given as Kind/name.
func RefusalName(object string) string {
	kind, name, ok := strings.Cut(object, "/")
	switch trust.ObjectKind(kind) {
	case trust.SecretKind, trust.ConfigMapKind, trust.RecordKind:
		if ok {
			return nameOf(prefixRefusal, strings.ToLower(kind), name)
		}
	}
	// Kinds that differ only in capitals must not share a name.
	return hashName(prefixRefusal, object)
}

// nameOf returns a DNS subdomain of at most 253 characters, as readable as the parts allow.
//
// It is PREFIX.PART.PART if the last part is a subdomain and all others are DNS labels. Labels have no dots, so the
// first dots separate the parts. Otherwise it is PREFIX-hash.READABLE.HASH, with a SHA-256 over the parts. The first
// labels differ, so the two forms never collide.
func nameOf(prefix string, parts ...string) string {
	plain := prefix + "." + strings.Join(parts, ".")
	last := len(parts) - 1
	if len(plain) > validation.DNS1123SubdomainMaxLength ||
		slices.ContainsFunc(parts[:last], isNoLabel) || len(validation.IsDNS1123Subdomain(parts[last])) > 0 {
		return hashName(prefix, parts...)
	}
	return plain
}

func hashName(prefix string, parts ...string) string {
	head, tail := prefix+hashed, "."+hashOf(parts...)
	readable := strings.Trim(legible(strings.Join(parts, "-")), "-")
	if readable == "" {
		return head + tail
	}
	if most := validation.DNS1123SubdomainMaxLength - len(head) - 1 - len(tail); len(readable) > most {
		// The cut may leave a dash at the end, which a label must not have.
		readable = strings.TrimRight(readable[:most], "-")
	}
	return head + "." + readable + tail
}

func isNoLabel(name string) bool { return len(validation.IsDNS1123Label(name)) > 0 }

// legible replaces each character that a DNS label cannot contain by a dash.
func legible(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, name)
}

// hashOf prefixes each part with its length, so that different lists never have the same input.
func hashOf(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		// A hash never fails to write.
		_, _ = hash.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
