// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"time"

	"certrotation.dev/registry/pki"
)

// Domain is everything that Assess needs to know of one trust domain.
type Domain struct {
	// Namespace of all objects, and Name of the domain within it.
	Namespace, Name string
	// Configuration is the name of the RotationConfiguration that declares the domain. The domain's objects consent
	// to it.
	Configuration string
	Signer        Signer
	Bundle        Bundle
	// Leaves ordered by name.
	Leaves []Leaf
	// Parties ordered as configured.
	Parties []Party
	// ReissuePerMinute bounds how many non-urgent leaves are reissued in a minute, zero for no bound.
	ReissuePerMinute int
	// ClockSkew is how far the controller's clock is ahead of the API server's and the kubelets' (behind if
	// negative). The controller measures it and records it for all others.
	ClockSkew time.Duration
	// LookedAt is when the domain was last assessed, as recorded twice a day, zero if that is not recorded. See
	// Assessment.Looked.
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

// Signer is the CA of a domain: the Secret's slots. A nil slot is empty.
type Signer struct {
	Object
	// Active signs.
	Active *pki.Certificate
	// Next is being distributed and may sign only leaves whose verifiers all trust it.
	Next *pki.Certificate
	// Previous were replaced, newest first. Their keys are kept until nothing needs them.
	Previous []*pki.Certificate
	Policy   Policy
}

// Bundle is the published set of trust anchors.
type Bundle struct {
	Object
	// Anchors in the order of the ConfigMap.
	Anchors []*pki.Certificate
	// Stores are the trust stores that the ConfigMap must also have, ordered by key.
	Stores []TrustStore
	// StoreDigests are the digests of the values under the keys that AnnotationTrustStores names.
	StoreDigests map[string]string
	// InjectInto are the cluster's objects into whose caBundle the configuration allows the anchors to be injected.
	InjectInto []InjectionTarget
	// ContentHash is the hash of the whole content of the ConfigMap (registry/contenthash), "" if unknown.
	ContentHash string
	// Superseded are the hashes of the contents that the ConfigMap declares as replaced, newest first. A start gate
	// for one of them lets a pod pass.
	Superseded []string
}

// InjectionTarget is an object of the cluster with a caBundle.
type InjectionTarget struct{ Kind, Name string }

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
	// Anchors are those of ca.crt alone, in order. Programs that mount only this Secret verify by them.
	Anchors []*pki.Certificate
	Policy  Policy
	// ContentHash is the hash of the whole content of the Secret (registry/contenthash), "" if unknown.
	ContentHash string
	// Superseded are the hashes of contents with the same certificate that the Secret declares as replaced, newest
	// first.
	Superseded []string
}

// EvidenceKind is how a member proves that it has loaded an anchor.
type EvidenceKind string

// Evidence kinds; docs/protocol.md says what each proves.
const (
	TLSProbe        EvidenceKind = "tlsProbe"
	Acknowledgement EvidenceKind = "acknowledgement"
	GracePeriod     EvidenceKind = "gracePeriod"
	Renewed         EvidenceKind = "renewed"
	// StaticPodRevision and WorkloadRollout are observations of what a rollout brought to its nodes or pods. The
	// fingerprints are of the content that runs.
	StaticPodRevision EvidenceKind = "staticPodRevision"
	WorkloadRollout   EvidenceKind = "workloadRollout"
	// Mounted are observations of the immutable objects, named by their content, that pods mount.
	Mounted EvidenceKind = "mounted"
	// CABundle are observations of the caBundle of an object of the cluster by which kube-apiserver verifies.
	CABundle EvidenceKind = "caBundle"
	// None is the operator's statement that a party needs no evidence. Its reason is shown.
	None EvidenceKind = "none"
)

// observed reports whether evidence of the kind comes from observations of the members, not from the state of Secrets
// or from time.
func (k EvidenceKind) observed() bool {
	switch k {
	case TLSProbe, Acknowledgement, StaticPodRevision, WorkloadRollout, Mounted, CABundle:
		return true
	case GracePeriod, Renewed, None:
	}
	return false
}

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

// Probe are the parameters of a TLS probe of one address of a member.
type Probe struct {
	// Address is host:port. Every address that the host resolves to is one process.
	Address string
	// Unknown says why there is no Address, "" if there is one.
	Unknown string
	// Presents is the name of the leaf that is presented there, "" for none of the domain.
	Presents string
	// Handshake makes the probe present a short-lived leaf of each CA to prove. What the server accepts in a
	// completed handshake is what it has loaded, whichever CAs it lists.
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
