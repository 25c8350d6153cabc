// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"strings"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/truststore"
)

// Keystore is another key of a leaf's Secret under which its pair is written, in a format.
type Keystore struct {
	Key    string
	Format truststore.Format
	// PasswordSecret and PasswordKey are where the password is. The model does not hold it.
	PasswordSecret, PasswordKey string
	// PasswordVersion tells one content of that Secret from another, "" if it has no usable password. NoPassword says
	// why, and what to do.
	PasswordVersion, NoPassword string
}

// AnnotationKeystores records, for each keystore, its seal and what else it was made of. So a keystore is stale if the
// pair, the password or the keystore itself has changed, and no cache needs a key or a password to notice.

// RecordedKeystore is what AnnotationKeystores says of one keystore.
type RecordedKeystore struct{ Made, Seal string }

// MaxKeystores bounds the keys that AnnotationKeystores names: one of each format.
const MaxKeystores = 2

// ParseKeystores reads the annotation AnnotationKeystores. It drops entries that it cannot read: their keystores are
// written again.
func ParseKeystores(text string) map[string]RecordedKeystore {
	out := map[string]RecordedKeystore{}
	for entry := range strings.FieldsSeq(text) {
		key, rest, named := strings.Cut(entry, "=")
		made, seal, sealed := strings.Cut(rest, "/")
		if named && sealed && len(out) < MaxKeystores {
			out[key] = RecordedKeystore{Made: made, Seal: seal}
		}
	}
	return out
}

// FormatKeystores returns the value of AnnotationKeystores for keystores with these seals, by key.
func FormatKeystores(keystores []Keystore, seals map[string]string) string {
	entries := make([]string, 0, len(keystores))
	for i := range keystores {
		k := &keystores[i]
		entries = append(entries, k.Key+"="+k.made()+"/"+seals[k.Key])
	}
	return strings.Join(entries, " ")
}

// made identifies what a keystore is made of besides the pair.
func (k *Keystore) made() string {
	const enough = 16
	of := strings.Join([]string{string(k.Format), k.PasswordSecret, k.PasswordKey, k.PasswordVersion}, "\x00")
	return truststore.DigestOf([]byte(of))[:enough]
}

// passwordProblem returns the problem of a keystore without a password, nil if there is none. The leaf is not issued
// until it is solved, because the keystore would keep the former pair.
func (l *Leaf) passwordProblem() *Problem {
	for i := range l.Keystores {
		if k := &l.Keystores[i]; k.PasswordVersion == "" {
			return &Problem{Object: secret(l.Name), Reason: ReasonKeystorePassword, Message: fmt.Sprintf(
				"its keystore %s cannot be written, so this leaf is not issued: %s", k.Key, k.NoPassword)}
		}
	}
	return nil
}

// withoutPassword returns the problem as a blocker of the leaf.
func (l *Leaf) withoutPassword() []Blocker {
	if p := l.passwordProblem(); p != nil {
		return []Blocker{{Object: p.Object, Reason: p.Reason, Message: p.Message}}
	}
	return nil
}

// storesOf returns the trust stores that a leaf has beside these anchors: none beside no anchor.
func (l *Leaf) storesOf(anchors []*pki.Certificate) []TrustStore {
	if len(anchors) == 0 {
		return nil
	}
	return l.Stores
}

// withLeafStores completes a write of a leaf: its trust stores get the anchors of that write. Those of an unnamed leaf
// stay as they are, and are no longer said to have these anchors.
func withLeafStores(action *Action, l *Leaf) *Action {
	if action.Stores = l.storesOf(action.Anchors); len(action.Stores) > 0 {
		action.Annotations = with(action.Annotations, AnnotationTrustStores, formatTrustStores(action.Stores))
	} else if _, had := l.Annotations[AnnotationTrustStores]; had {
		action.RemoveAnnotations = append(action.RemoveAnnotations, AnnotationTrustStores)
	}
	return action
}

func with(in map[string]string, key, value string) map[string]string {
	if in == nil {
		in = map[string]string{}
	}
	in[key] = value
	return in
}

// staleStores says why the keystores or the trust stores of a leaf must be written, "" if they need not be.
func (l *Leaf) staleStores() string {
	const others = "its keystores and trust stores are not those of the configuration"
	if len(l.Keystores)+len(l.Stores) == 0 && l.Annotations[AnnotationKeystores] == "" && l.Annotations[AnnotationTrustStores] == "" {
		return ""
	}
	had, stores := ParseKeystores(l.Annotations[AnnotationKeystores]), l.storesOf(l.Anchors)
	for i := range l.Keystores {
		k := &l.Keystores[i]
		was, recorded := had[k.Key]
		switch {
		case !recorded:
			return others
		case was.Seal != l.Seals[k.Key]:
			return k.Key + " does not have its pair"
		case was.Made != k.made():
			return "the password of " + k.Key + " has changed"
		}
	}
	for i := range stores {
		if s := &stores[i]; l.StoreDigests[s.Key] != truststore.Digest(s.Format, s.Password, l.Anchors) {
			return s.Key + " does not have the anchors of ca.crt"
		}
	}
	if len(had) != len(l.Keystores) || l.Annotations[AnnotationTrustStores] != formatTrustStores(stores) {
		return others
	}
	return ""
}
