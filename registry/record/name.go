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
	prefixWaiver   = "waiver"
	prefixEvidence = "evidence"
	prefixRefusal  = "refusal"
	prefixClock    = "clock"
)

// hashed, at the end of the first label, says that the name ends in a hash over what it is about.
const hashed = "-hash"

// RosterName is the name of the roster of a trust domain.
func RosterName(domain string) string { return nameOf(prefixRoster, domain) }

// ClockName is the name of the record of the controller's clock for a trust domain.
func ClockName(domain string) string { return nameOf(prefixClock, domain) }

// RequestName is the name of the request of that kind for a Secret. There is one at a time.
func RequestName(kind trust.RequestKind, secret string) string {
	if kind == trust.RequestAbort {
		return nameOf(prefixAbort, secret)
	}
	return nameOf(prefixRotate, secret)
}

// WaiverName is the name of the waiver of a member.
func WaiverName(domain, party, member string) string {
	return nameOf(prefixWaiver, domain, party, member)
}

// EvidenceName is the name of the evidence of a member.
func EvidenceName(domain, party, member string) string {
	return nameOf(prefixEvidence, domain, party, member)
}

// RefusalName is the name of the refusal of writes to an object, which is given as Kind/name.
func RefusalName(object string) string {
	kind, name, ok := strings.Cut(object, "/")
	switch trust.ObjectKind(kind) {
	case trust.SecretKind, trust.ConfigMapKind, trust.RecordKind:
		if ok {
			return nameOf(prefixRefusal, strings.ToLower(kind), name)
		}
	}
	// Two kinds that differ in their capitals only must not meet.
	return hashName(prefixRefusal, object)
}

// nameOf is readable as far as the parts allow: a DNS subdomain of at most 253 characters.
//
// Where each part but the last is a DNS label, and the last a subdomain, it is PREFIX.PART.PART. Labels have no dots, so
// the first dots say where each ends. Anything else becomes PREFIX-hash.READABLE.HASH, with a SHA-256 over the parts. The
// first labels differ, so the two forms never meet.
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
		// A cut may leave a dash where a label has to end in a letter or digit.
		readable = strings.TrimRight(readable[:most], "-")
	}
	return head + "." + readable + tail
}

func isNoLabel(name string) bool { return len(validation.IsDNS1123Label(name)) > 0 }

// legible keeps what a DNS label may contain and puts dashes for the rest.
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

// hashOf writes the length in front of each part, so that no two lists of parts run together.
func hashOf(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		// A hash never fails to write.
		_, _ = hash.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
