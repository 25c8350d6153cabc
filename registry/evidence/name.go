// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// namePrefix begins the name of every record.
const namePrefix = "certrotation-evidence-"

// RecordName is the name of the ConfigMap with the record of a member: a DNS subdomain of at most 253 characters, which
// is readable as far as the names allow.
//
// Where all three names are DNS labels it is prefix + DOMAIN.PARTY.MEMBER. Labels have no dots, so two dots say where
// each ends. Anything else, such as a node named by its full domain name, becomes prefix + READABLE.HASH, with one dot
// and a SHA-256 over the three names, so that the two forms never meet.
func RecordName(domain, party, member string) string {
	if isLabel(domain) && isLabel(party) && isLabel(member) {
		return namePrefix + domain + "." + party + "." + member
	}
	tail := "." + hashOf(domain, party, member)
	readable := legible(domain + "-" + party + "-" + member)
	if most := validation.DNS1123SubdomainMaxLength - len(namePrefix) - len(tail); len(readable) > most {
		readable = readable[:most]
	}
	// Both the prefix and a cut may leave a dash where a label has to end in a letter or digit.
	return strings.TrimRight(namePrefix+readable, "-") + tail
}

// isLabel goes by 63 characters at most, so that the name that is made of three labels always fits.
func isLabel(name string) bool {
	return len(validation.IsDNS1123Label(name)) == 0
}

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

// hashOf writes the length in front of each name, so that no two lists of names run together.
func hashOf(names ...string) string {
	hash := sha256.New()
	for _, name := range names {
		// A hash never fails to write.
		_, _ = hash.Write([]byte(strconv.Itoa(len(name)) + ":" + name))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
