// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/truststore"
)

// Domain is everything that Assess needs to know of one trust domain.
type Domain struct {
	// Namespace of all objects, and Name of the domain within it.
	Namespace, Name string
	// Configuration is the name of the RotationConfiguration that declares the domain. The domain's objects consent
	// to it.
	Configuration string
	// WrittenBy is the identity of the controller that writes signer, bundle and leaves, "" if certrotation does. Then
	// their names are those of configurations, and each is the newest of several immutable Secrets (registry/edition).
	WrittenBy string
	// Issuer is the controller that issues the leaves, by its name for people, "" if certrotation does. It signs with the
	// active CA alone (Issued).
	Issuer string
	Signer Signer
	Bundle Bundle
	// Leaves ordered by name.
	Leaves []Leaf
	// Parties ordered as configured.
	Parties []Party
	// Verifiers are the TLS libraries that must accept what is used; zero means all.
	Verifiers pki.Verifiers
	// ReissuePerMinute bounds how many non-urgent leaves are reissued in a minute, zero for no bound.
	ReissuePerMinute int
	// ClockSkew is how far the controller's clock is ahead of the API server's and the kubelets' (behind if
	// negative). The controller measures it and records it for all others.
	ClockSkew time.Duration
	// LookedAt is until when the passing of time was watched, as recorded twice a day, zero if that is not recorded.
	// See Assessment.Looked.
	LookedAt time.Time
	// Unlisted says that the signer also signs leaves that no Secret holds; nil if it does not.
	Unlisted *Unlisted
	// StageDeadline after which a stage counts as overdue.
	StageDeadline time.Duration
	// Problems that are not about a single object, such as a node without an address. They stop only what they name.
	Problems []Problem
	// Requests that are recorded for Secrets of the domain, ordered by kind and Secret.
	Requests []Request
	// Released are the names of leaf Secrets that do not count any more although they may exist.
	Released []string
	// ReleasedMembers are members, as PARTY/MEMBER, that do not count at rest although their nodes exist.
	ReleasedMembers []string
	// Absences are proofs that members of the roster are gone, by AbsenceKey, as far as they were checked (Missing).
	Absences map[string]string
	// Roster is the record of the members and leaves that count, nil if there is none yet.
	Roster *Roster
	// RosterProblem says why the record of the roster cannot be read, nil if it can or does not exist. With a problem
	// it is unknown which members count.
	RosterProblem *Problem
	// Evidence are the records of what is known of members, including members that nothing names any more, ordered by
	// name.
	Evidence []EvidenceRecord
	// Waivers of members, ordered by party and member.
	Waivers []Waiver
	// Refusals are writes that the API server refuses to the controller, ordered by object.
	Refusals []RefusedWrite
}

// Leaf returns the leaf of that name, nil if the domain has none.
func (d *Domain) Leaf(name string) *Leaf {
	for i := range d.Leaves {
		if d.Leaves[i].Name == name {
			return &d.Leaves[i]
		}
	}
	return nil
}

// Party returns the relying party of that name, nil if the configuration names none.
func (d *Domain) Party(name string) *Party {
	for i := range d.Parties {
		if d.Parties[i].Name == name {
			return &d.Parties[i]
		}
	}
	return nil
}

func (d *Domain) holds(leaf string) bool {
	return slices.ContainsFunc(d.Parties, func(p Party) bool { return p.holds(leaf) })
}

// Unlisted are leaves of the active CA that exist only in the memory of their holders, such as those of
// certrotation's own servers. They count as live from the first CA on.
type Unlisted struct {
	// Drain is how long after a promotion holders may still present a leaf of the former CA.
	Drain time.Duration
}

// Object is what the model knows of a Secret or ConfigMap apart from its certificates.
type Object struct {
	// Name of the Secret or ConfigMap; always set, whether the object exists or not.
	Name string
	// Present says that the object exists (also when it has a Problem).
	Present bool
	// UID and ResourceVersion of the live object, "" if it does not exist.
	UID, ResourceVersion string
	// Created is the object's creation time.
	Created time.Time
	// Annotations are those whose keys KnownAnnotation reports.
	Annotations map[string]string
	// Labels are those whose keys KnownLabel reports.
	Labels map[string]string
	// Finalizers says that finalizers hold back the deletion of the object. Deleting says that it was deleted and
	// waits for them.
	Finalizers, Deleting bool
	// Immutable says that the API server refuses changes of the content.
	Immutable bool
	// Problem says why the content cannot be used, nil if it can, and if the object does not exist.
	Problem *Problem
}

// Policy says when a certificate is renewed and how its successor is made.
type Policy struct {
	// Profile for the next certificate. The CommonName of a signer is made by pki.GenerationName.
	Profile pki.Profile
	// RenewAtPercent of its validity a certificate is due, between 1 and 99.
	RenewAtPercent int32
	// RenewBefore its end a certificate is due, if that is earlier. Zero disables it.
	RenewBefore time.Duration
	// JitterPercent of its validity is the most by which a certificate is due earlier, between 0 and 20.
	JitterPercent int32
}

// refresh returns the latest time to renew a certificate: at RenewAtPercent of its validity, or RenewBefore its end.
// If the backdate already exceeds the percentage, it counts from when the certificate was made. If the signer
// shortened the life of the certificate, RenewBefore shrinks in proportion. A certificate is never due when it is
// made, or it would be made over and over.
func refresh(c *pki.Certificate, p Policy) time.Time {
	life, made := c.NotAfter.Sub(c.NotBefore), c.NotBefore.Add(p.Profile.Backdate)
	at := c.NotBefore.Add(life / 100 * time.Duration(p.RenewAtPercent))
	if !at.After(made) {
		at = made.Add(c.NotAfter.Sub(made) / 100 * time.Duration(p.RenewAtPercent))
	}
	renewBefore := p.RenewBefore
	if full := p.Profile.Validity + p.Profile.Backdate; life < full {
		renewBefore = time.Duration(float64(renewBefore) * float64(life) / float64(full))
	}
	if before := c.NotAfter.Add(-renewBefore); renewBefore > 0 && before.After(made) && before.Before(at) {
		return before
	}
	return at
}

// Signer is the CA of a domain: the Secret's slots. A nil slot is empty.
type Signer struct {
	Object
	// Active signs.
	Active *pki.Certificate
	// Next is being distributed and may sign only leaves whose verifiers all trust it.
	Next *pki.Certificate
	// Previous were replaced, newest first. Their keys are kept until nothing needs them.
	Previous []*pki.Certificate
	// Issuers are the CAs above those of the slots, as far as the Secret holds them (chains.go).
	Issuers []*pki.Certificate
	// Request is for a CA whose key the Secret holds already, nil if there is none (install.go).
	Request *pki.AuthorityRequest
	Policy  Policy
	// Issued is the CA that Domain.Issuer signs with, nil if it signs with the one in this Secret. Otherwise this Secret
	// has certificates without keys.
	Issued *Issued
}

// slots returns the CAs of the slots, newest first.
func (s *Signer) slots() []*pki.Certificate {
	all := append([]*pki.Certificate{s.Next, s.Active}, s.Previous...)
	return slices.DeleteFunc(all, func(ca *pki.Certificate) bool { return ca == nil })
}

// backdate is how far the start of its CAs lies before they were made, as far as known.
func (s *Signer) backdate() time.Duration {
	if s.Issued != nil {
		return 0
	}
	return s.Policy.Profile.Backdate
}

// Bundle is the published set of trust anchors.
type Bundle struct {
	Object
	// InSecret says that it is in a Secret, not in a ConfigMap.
	InSecret bool
	// Anchors in the order of the ConfigMap, each once.
	Anchors []*pki.Certificate
	// Repeats says that the ConfigMap has one more than once. Envoy was reported to refuse such a bundle as a whole
	// (envoyproxy/gateway 8847), and kube-apiserver refuses it as a ClusterTrustBundle.
	Repeats bool
	// NewFirst says that an anchor that is added goes in front of the others, not behind them.
	NewFirst bool
	// Unread are blocks of the ConfigMap that some verifiers may read and this program cannot. They prove nothing and
	// hold nothing up, and each write keeps them.
	Unread []pki.UnreadBlock
	// Stores are the trust stores that the ConfigMap must also have, ordered by key.
	Stores []TrustStore
	// StoreDigests are the digests of the values under the keys that AnnotationTrustStores names.
	StoreDigests map[string]string
	// Keystore is a key with a keystore that certrotation does not write, "" if there is none.
	Keystore string
	// Beside are the anchors under other keys of the ConfigMap that hold PEM: those of Stores, and keys that no
	// configuration names.
	Beside map[string]pki.Anchors
	// InjectInto are the cluster's objects into whose caBundle the configuration allows the anchors to be injected.
	InjectInto []InjectionTarget
	// ContentHash is the hash of the whole content of the ConfigMap (registry/contenthash), "" if unknown.
	ContentHash string
	// Superseded are the hashes of the contents that the ConfigMap declares as replaced, newest first. A start gate
	// for one of them lets a pod pass.
	Superseded []string
}

// Ref returns the bundle as Kind/name.
func (b *Bundle) Ref() string {
	if b.InSecret {
		return secret(b.Name)
	}
	return configMap(b.Name)
}

// with returns anchors with others added, which are ordered by age, the newest last. Only this decides where an anchor
// goes: all else is written in the order of the bundle, or behind it.
func (b *Bundle) with(anchors []*pki.Certificate, added ...*pki.Certificate) []*pki.Certificate {
	if !b.NewFirst {
		return slices.Concat(anchors, added)
	}
	newest := slices.Clone(added)
	slices.Reverse(newest)
	return slices.Concat(newest, anchors)
}

// InjectionTarget is an object of the cluster with a caBundle.
type InjectionTarget struct{ Kind, Name string }

// TrustStore is another key of a bundle ConfigMap under which the anchors are written, in a format.
type TrustStore struct {
	Key      string
	Format   truststore.Format
	Password string
}

// MaxTrustStores bounds the keys of a bundle that AnnotationTrustStores names: eight of PEM, and two formats.
const MaxTrustStores = 10

// ParseTrustStores reads the annotation AnnotationTrustStores: the keys that were written as trust stores.
func ParseTrustStores(text string) []string {
	keys := slices.Collect(strings.SplitSeq(text, ","))
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" })
	return keys[:min(len(keys), MaxTrustStores)]
}

func formatTrustStores(stores []TrustStore) string {
	keys := make([]string, 0, len(stores))
	for _, store := range stores {
		keys = append(keys, store.Key)
	}
	return strings.Join(keys, ",")
}

// Leaf is one end-entity certificate Secret.
type Leaf struct {
	Object
	// Template is the secretName as the configuration has it (with {node} if there is one for each node), "" if
	// Unnamed.
	Template string
	// Unnamed says that the configuration no longer names the leaf. It counts as live until it is released by name or
	// deleted, but it is not issued.
	Unnamed bool
	// Certificate is nil if the Secret does not exist or cannot be read. It is set if only the key is wrong.
	Certificate *pki.Certificate
	// Authorities are the CA certificates in the Secret itself: in tls.crt after the leaf, and in ca.crt.
	Authorities []*pki.Certificate
	// Anchors are those of ca.crt alone, in order, each once. Programs that mount only this Secret verify by them.
	Anchors []*pki.Certificate
	// AnchorsRepeat says that ca.crt has one more than once.
	AnchorsRepeat bool
	// UnreadAnchors are blocks of ca.crt, see Bundle.Unread.
	UnreadAnchors []pki.UnreadBlock
	// Keystores and Stores are the keystores, and the trust stores of Anchors, that the Secret must also have, ordered
	// by key.
	Keystores []Keystore
	Stores    []TrustStore
	// Seals are those (truststore.Seal) of the values under the keys that AnnotationKeystores names. StoreDigests are
	// the digests of the values under the keys that AnnotationTrustStores names.
	Seals, StoreDigests map[string]string
	// Keystore is another key with a keystore, "" if there is none. Nothing renews it.
	Keystore string
	Policy   Policy
	// Issued is the pair to take, nil if Domain.Issuer is "".
	Issued *Issued
	// ContentHash is the hash of the whole content of the Secret (registry/contenthash), "" if unknown.
	ContentHash string
	// Superseded are the hashes of contents with the same certificate that the Secret declares as replaced, newest
	// first.
	Superseded []string
}

// issuedAt returns when a leaf was issued, never too early, because a grace period is a lower bound.
func (l *Leaf) issuedAt() time.Time {
	start := l.Certificate.NotBefore
	if l.Issued == nil {
		start = start.Add(l.Policy.Profile.Backdate)
	}
	if t, err := time.Parse(time.RFC3339, l.Annotations[AnnotationIssuedAt]); err == nil && t.After(start) {
		return t
	}
	return start
}

// Issued is what Domain.Issuer has delivered for a signer or a leaf, in a Secret of its own. It may replace the content
// at any time, in one write. Only this Secret tells: conditions and annotations of the issuer decide nothing.
//
// certrotation takes it into the signer, or into the leaf, when that is safe. So programs load the Secrets that
// certrotation writes, and an issuer that runs ahead cuts nothing off.
type Issued struct {
	Object
	// Certificate is nil if the Secret does not exist, does not consent, or cannot be read.
	Certificate *pki.Certificate
	// Settles is how long after its start a leaf is taken, for verifiers whose clocks are behind: an issuer may not
	// backdate what it issues.
	Settles time.Duration
}

// Roster records the members and leaves that count. It grows freely. A member leaves it only by proof of absence. To
// pass over a present member, an operator waives it (Waiver).
type Roster struct {
	// ResourceVersion of the record.
	ResourceVersion string
	// Signers are the names of all Secrets that were the signer of the domain, ordered. Their CAs are the domain's
	// own.
	Signers []string
	// Members ordered by party and member.
	Members []RosterMember
	// Leaves are the names of the leaf Secrets, ordered.
	Leaves []string
	// Populated are the parties of pods whose selector has ever selected a pod (Party.populatedName), ordered.
	Populated []string
	// Issued says that leaves were ever issued: a started member may present one that no Secret holds any more. It is
	// recorded before the first leaf.
	Issued bool
	// MayHaveSigned are the CAs that may have signed leaves before they were promoted, the latest last. A CA is added
	// before its first leaf. NeverSigned are the CAs whose rotation was aborted before that. They sign nothing any
	// more, so no member presents their leaves. Both are writes to the same record, so a deposed leader cannot make a
	// CA both.
	MayHaveSigned, NeverSigned []pki.Fingerprint
}

// MaxUnpromoted bounds the lists of CAs in a roster to the latest rotations.
const MaxUnpromoted = 16

func (r *Roster) same(other *Roster) bool {
	if other == nil || r.Issued != other.Issued || !slices.Equal(r.Signers, other.Signers) || !slices.Equal(r.Leaves, other.Leaves) ||
		!slices.Equal(r.Populated, other.Populated) ||
		!slices.Equal(r.MayHaveSigned, other.MayHaveSigned) || !slices.Equal(r.NeverSigned, other.NeverSigned) {
		return false
	}
	return slices.EqualFunc(r.Members, other.Members, func(x, y RosterMember) bool {
		return x.Party == y.Party && x.Member == y.Member && x.Instance == y.Instance && x.Pod == y.Pod && x.Kind == y.Kind && x.Grace == y.Grace &&
			slices.Equal(x.Verifies, y.Verifies) && slices.Equal(x.Presents, y.Presents) &&
			x.VerifiesNothing == y.VerifiesNothing && x.Started == y.Started && x.Absent == y.Absent
	})
}

func (r *Roster) withoutPods() *Roster {
	if r == nil {
		return nil
	}
	out := *r
	out.Members = slices.DeleteFunc(slices.Clone(r.Members), func(m RosterMember) bool { return m.Pod })
	return &out
}

// RosterMember is one member as it counts.
type RosterMember struct {
	Party, Member string
	// Instance of the Member.
	Instance string
	// Pod says that the member is a pod.
	Pod  bool
	Kind EvidenceKind
	// Grace of the Party.
	Grace time.Duration
	// Verifies and Presents are names of leaves.
	Verifies, Presents []string
	// VerifiesNothing of the Party.
	VerifiesNothing bool
	// Started says that the member may be running: its leaves were ever issued, or it was observed.
	Started bool
	// Absent is the proof that the member is gone, "" if there is none. It is void once the configuration names the
	// member.
	Absent string
	// Observations of the member, as in Member. They are not part of the record.
	Observations []Observation
}

// join adds what a member was recorded with. The evidence kind that was recorded first stays.
func (r *RosterMember) join(recorded *RosterMember) {
	r.Kind = recorded.Kind
	r.Grace = max(r.Grace, recorded.Grace)
	r.Verifies = sortedSet(append(r.Verifies, recorded.Verifies...))
	r.Presents = sortedSet(append(r.Presents, recorded.Presents...))
	r.VerifiesNothing = r.VerifiesNothing && recorded.VerifiesNothing
	r.Started = r.Started || recorded.Started
}

func (r *RosterMember) party(m Member) *Party {
	return &Party{
		Name: r.Party, Kind: r.Kind, Grace: r.Grace, Verifies: r.Verifies, VerifiesNothing: r.VerifiesNothing,
		Members: []Member{m}, recorded: true,
	}
}

func compareMembers(x, y RosterMember) int {
	return cmp.Or(cmp.Compare(x.Party, y.Party), cmp.Compare(x.Member, y.Member), cmp.Compare(x.Instance, y.Instance))
}

// AbsenceKey names a member of a roster.
func AbsenceKey(m *RosterMember) string { return m.Party + "/" + m.Member + "/" + m.Instance }

// RosterRecord is the name of the record with the roster of a domain.
func RosterRecord(domain string) string { return "roster." + domain }

// EvidenceRecord is a record of what is known of one member, configured or not. Pods leave theirs behind.
type EvidenceRecord struct {
	// Record is the name of the record.
	Record, UID, ResourceVersion string
	Party, Member                string
	// Expires is when the last of its observations ends.
	Expires time.Time
}

// RefusedWrite is a write that the API server refuses to the controller. With VerbRestart it is a workload restart
// that is held.
type RefusedWrite struct {
	// Object as Kind/name.
	Object string
	// Verb of the request, and the Answer to it.
	Verb, Answer string
	Since        time.Time
}

// VerbIssue is not a verb of the API. It marks what Domain.Issuer was asked for and has failed to issue.
const VerbIssue = "issue"

// VerbRestart is not a verb of the API. It marks a rotation that waits for the pods of a workload to restart.
const VerbRestart = "restart"

// RequestKind says what a request asks for.
type RequestKind string

// Request kinds.
const (
	RequestRotate RequestKind = "Rotate"
	RequestAbort  RequestKind = "Abort"
	// RequestInstall hands over the CA that a signer has requested.
	RequestInstall RequestKind = "Install"
)

// Request is a user's request. It is answered once: the write that answers it names it on the Secret
// (AnnotationAnswered), then its record is deleted.
type Request struct {
	// ID is the UID of the record, Record its name.
	ID, Record string
	Kind       RequestKind
	// Secret that the request is about.
	Secret string
	// Newest is the newest CA at the time of the request, "" for none.
	Newest pki.Fingerprint
	// Reason, for people.
	Reason string
	// Compromised says that the key must not be trusted any longer than needed.
	Compromised bool
	// Certificates are a CA and its issuers (RequestInstall).
	Certificates []*pki.Certificate
}

// Waiver is an operator's decision to let one rotation continue without the evidence of one member. It replaces
// missing evidence. It does not outweigh evidence that a live process of the member lacks the CA or presents a former
// leaf.
type Waiver struct {
	Party, Member string
	Reason        string
	By            string
	Expires       time.Time
	// Rotation is the one that it is for.
	Rotation Rotation
}

// Rotation identifies a rotation by its CAs, so that no other one is taken for it: a CA is introduced once.
type Rotation struct {
	// From is the CA that is active when the rotation begins, "" for none. An aborted rotation has not left it.
	From pki.Fingerprint
	// To is the CA that the rotation introduces, or has introduced before it was aborted. It is "" at rest.
	To pki.Fingerprint
}

func same(a, b *pki.Certificate) bool {
	return a != nil && b != nil && a.Fingerprint == b.Fingerprint
}

func secret(name string) string { return string(SecretKind) + "/" + name }

func secrets(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, secret(name))
	}
	return out
}

func configMap(name string) string { return string(ConfigMapKind) + "/" + name }

func sortedSet(in []string) []string {
	if len(in) == 1 {
		return slices.Clip(in)
	}
	return slices.Compact(slices.Sorted(slices.Values(in)))
}

// contains reports whether all has every element of some. Mostly they are equal.
func contains(all, some []string) bool {
	if slices.Equal(all, some) {
		return true
	}
	has := make(map[string]bool, len(all))
	for _, name := range all {
		has[name] = true
	}
	return !slices.ContainsFunc(some, func(name string) bool { return !has[name] })
}

func sameSet[T ~string](a, b []T) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}
