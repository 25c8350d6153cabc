// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// Party is a relying party.
type Party struct {
	Name string
	Kind EvidenceKind
	// Lease of the reports of its members (kind Acknowledgement).
	Lease time.Duration
	// Verifies are the names of the leaves that this party verifies.
	Verifies []string
	// VerifiesNothing says that the party only presents leaves. A server that requests no certificate has nothing to
	// load.
	VerifiesNothing bool
	// Grace depends on the kind. GracePeriod: the grace period. Renewed: the least time after its renewal from which
	// a leaf counts as presented; zero if only an observed presentation counts. CABundle: the time until
	// kube-apiserver verifies by what a target holds.
	Grace time.Duration
	// Reason why the kind None is enough.
	Reason string
	// Reporters may acknowledge for the members, nil if the API server's RBAC decides.
	Reporters *Reporters
	// OfPods says that the members are the pods that a selector selects; there may be none. Presents are the names of
	// the leaves that each of the pods presents.
	OfPods   bool
	Presents []string
	// Selector is the canonical text of what selects the pods: a label selector, or Mounting.
	Selector string
	// Unlisted says that the pods are not known yet.
	Unlisted bool
	// StartAssumed accepts pods without a start gate, the weaker proof (kind WorkloadRollout).
	StartAssumed bool
	// Workloads may be restarted, in that order, to bring the published content to the pods (kind WorkloadRollout).
	Workloads []Workload
	// Mounts are where the pods have their files (kind Mounted).
	Mounts  Mounts
	Members []Member

	// empty says that no pod of this party of pods runs, but some did.
	empty bool
	// recorded says that the party counts because of the roster, not of the configuration.
	recorded bool
	// unwatched says that its members are no longer observed by its kind, as the configuration does not ask for that.
	unwatched bool
	// releases are those of a recorded member that the configuration does not name.
	releases []string
}

// Reporters are the accounts that may acknowledge for the members of a party.
type Reporters struct {
	// Users and ServiceAccounts by name, with {member} for the name of the member. ServiceAccounts are in the
	// domain's namespace.
	Users, ServiceAccounts []string
	// Groups may report for every member.
	Groups []string
}

// WorkloadKind is the kind of a workload that can be restarted.
type WorkloadKind string

// Kinds of workloads.
const (
	Deployment  WorkloadKind = "Deployment"
	StatefulSet WorkloadKind = "StatefulSet"
	DaemonSet   WorkloadKind = "DaemonSet"
)

// Workload names a workload in the namespace of a domain.
type Workload struct {
	Kind WorkloadKind
	Name string
}

func (p *Party) holds(leaf string) bool {
	return slices.ContainsFunc(p.Members, func(m Member) bool { return slices.Contains(m.Holds, leaf) })
}

func (p *Party) member(name string) *Member {
	for i := range p.Members {
		if p.Members[i].Name == name {
			return &p.Members[i]
		}
	}
	return nil
}

// assumption is what the required evidence takes for granted of the members, "" if nothing or if it is said
// elsewhere.
func (p *Party) assumption() string {
	if p.StartAssumed {
		return "it is assumed that a pod starts with the content which its template names: no start gate has to keep an older one from it"
	}
	return p.Reason
}

// verifying reports whether the party has known verifiers. A party of pods counts also when none runs now but some
// did, or while they are not listed yet.
func verifying(p *Party) bool {
	return !p.VerifiesNothing && (len(p.Members) > 0 || p.empty || p.Unlisted)
}

// Member is one place of a relying party where processes run: a node, a host, or what the operator calls one. It
// shows evidence of something if all its live processes do.
type Member struct {
	Name string
	// Instance tells a member from an earlier one of the same name: the UID of its node, or of the pod that it is. It
	// is "" where there is no UID.
	Instance string
	// Pod is set for a member that is a pod.
	Pod *Pod
	// Workload is the owner of the pod. Content are the annotations that name its start contents (ContentAnnotation).
	// Both are empty where the pod has none.
	Workload Workload
	Content  map[string]string
	// Holds are the names of the leaves that the member presents.
	Holds []string
	// Probes are where and how the member is probed, one for each address. Only for the kind TLSProbe.
	Probes []Probe
	// Observations are the latest ones of each observed process, ordered by Instance.
	Observations []Observation
	// RestartedAt is when the member was last seen to restart, zero if unknown. Older observations prove nothing.
	RestartedAt time.Time
}

// presentedAt returns the probed addresses at which a leaf is presented.
func (m *Member) presentedAt(leaf string) []string {
	var out []string
	for i := range m.Probes {
		if m.Probes[i].Presents == leaf {
			out = append(out, m.Probes[i].Address)
		}
	}
	return out
}

// recoveredUntil returns when the last recovered leaf ends that a process of the member was observed to present. The
// age of the observation does not matter: the leaf has its own end.
func (m *Member) recoveredUntil() time.Time {
	var last time.Time
	for i := range m.Observations {
		if until := m.Observations[i].RecoveredUntil; until.After(last) {
			last = until
		}
	}
	return last
}

// memberKey names a member. A member with two kinds of evidence is one member.
type memberKey struct{ party, member string }

func each(parties []*Party) iter.Seq2[*Party, *Member] {
	return func(yield func(*Party, *Member) bool) {
		for _, p := range parties {
			for i := range p.Members {
				if !yield(p, &p.Members[i]) {
					return
				}
			}
		}
	}
}

// Probe are the parameters of a TLS probe of one address of a member.
type Probe struct {
	// Address is host:port. Every address that the host resolves to is one process.
	Address string
	// Unknown says why there is no Address, "" if there is one.
	Unknown string
	// Presents is the name of the leaf that is presented there, "" for none of the domain.
	Presents string
	// Handshake makes the probe present a short-lived leaf of each CA to prove. What the server accepts in a
	// completed handshake is what it has loaded, whatever CAs it lists.
	Handshake bool
	// ServerName for SNI and verification, "" for the host of Address.
	ServerName string
	// ClientLeaf is the name of the leaf Secret to complete the handshake with, "" for none.
	ClientLeaf string
	// Interval between probes while a rotation is in flight, and Timeout of one probe.
	Interval, Timeout time.Duration
}

// Observation is what one process of a member was observed, or reported, to have loaded.
type Observation struct {
	// Instance identifies the process within its member: the UID of a pod, a resolved address, Pod.Process, or the
	// reporter's own name for it.
	Instance string
	// Kind of this evidence. It proves nothing for another kind.
	Kind EvidenceKind
	// Address is that in the Probe (tlsProbe), or Mounts.Place (mounted).
	Address string
	// Expires is when the evidence ends unless it is renewed.
	Expires time.Time
	// ReportedBy is the user who reported it (acknowledgement).
	ReportedBy string
	// ReportedByUID is the UID of that user, "" if there is none.
	ReportedByUID string
	// Trusts are fingerprints of loaded anchors (acknowledgement, staticPodRevision, workloadRollout, mounted, a
	// completed handshake). For caBundle they are the anchors that every entry of a target holds.
	Trusts []pki.Fingerprint
	// TrustedSubjects are pki.SubjectHash values of acceptable CAs (tlsProbe). A subject that several known CAs share
	// proves nothing.
	TrustedSubjects []string
	// Presents are fingerprints of leaves that the member presents.
	Presents []pki.Fingerprint
	// RecoveredUntil is the end of a presented leaf that is valid although all anchors of its signing key have
	// expired: a recovery made it (tlsProbe). Zero otherwise.
	RecoveredUntil time.Time
	// ObservedAt is when the observation last changed. Assess compares it only with RestartedAt.
	ObservedAt time.Time
	// StartedAt is when the reporting process started, zero if unknown. For a target it is since when it holds all of
	// Trusts (HeldSince).
	StartedAt time.Time
	// Failure says why the last attempt to observe failed, "" if it did not. All other fields are then from before.
	Failure string
}

// met reports whether a process was ever observed. A failure to answer does not tell whether it runs.
func met(o *Observation) bool {
	return o.Failure == "" || len(o.Trusts)+len(o.TrustedSubjects)+len(o.Presents) > 0
}

// Mounts says where the pods of a party have the files that they load (kind Mounted).
type Mounts struct {
	// Trust is the volume with their anchors, "" if they verify nothing. TrustKey is the key of its object.
	Trust, TrustKey string
	// Leaves are the volumes with the leaves that they present.
	Leaves []string
}

// Place names these volumes in an observation. Observations of other volumes are no evidence.
func (m *Mounts) Place() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{m.Trust, m.TrustKey, m.Leaves}))
	return "volumes/" + hex.EncodeToString(sum[:8])
}

// chosenByLeaf begins the Party.Selector of pods that mount a leaf. No label selector begins like this.
const chosenByLeaf = "mounting Secret/"

// Mounting is the Party.Selector of the pods that mount a leaf, by its name in the configuration.
func Mounting(leaf string) string { return chosenByLeaf + leaf }

// Member is the name of the target as a member of a party with the evidence kind CABundle: KIND.NAME. No kind has a
// dot, so the name begins after the first one. No node, pod or leaf has such a name.
func (t InjectionTarget) Member() string { return t.Kind + "." + t.Name }

// String returns the target as other objects are named: Kind/name.
func (t InjectionTarget) String() string { return t.Kind + "/" + t.Name }

// TargetOf parses the member name of a target.
func TargetOf(member string) (_ InjectionTarget, ok bool) {
	kind, name, ok := strings.Cut(member, ".")
	return InjectionTarget{Kind: kind, Name: name}, ok && kind != "" && name != ""
}

// HeldSince returns since when a target holds all the anchors observed now, to be recorded. Anchors that it lost do
// not matter. Anchors that it gained count from now. All count from now if the earlier observation is missing or has
// ended: the target may have lost them for a while.
func HeldSince(d *Domain, before *Observation, anchors []pki.Fingerprint, now time.Time) time.Time {
	from := d.Recorded(now)
	if before == nil || before.Failure != "" || before.StartedAt.IsZero() || before.StartedAt.After(from) || !before.Expires.After(now) {
		return from
	}
	if slices.ContainsFunc(anchors, func(f pki.Fingerprint) bool { return !slices.Contains(before.Trusts, f) }) {
		return from
	}
	return before.StartedAt
}

// AbsentTarget returns the proof that a target of the roster is gone, "" if there is none. Nothing verifies by an
// object that does not exist. An object that only left the configuration keeps its anchors, and kube-apiserver still
// verifies by them.
func AbsentTarget(m *RosterMember, exists bool) string {
	target, ok := TargetOf(m.Member)
	if !ok || exists {
		return ""
	}
	return fmt.Sprintf("no %s is called %s", target.Kind, target.Name)
}
