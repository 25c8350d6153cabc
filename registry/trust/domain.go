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
	// Configuration is the name of the RotationConfiguration that declares the domain, to which its objects consent.
	Configuration string
	Signer        Signer
	Bundle        Bundle
	// Leaves ordered by name.
	Leaves []Leaf
	// Parties ordered as configured.
	Parties []Party
	// ReissuePerMinute bounds how many leaves are reissued in a minute where that can wait; zero for no bound.
	ReissuePerMinute int
	// ClockSkew is how far the clock of the controller is ahead of those of the API server and of the kubelets (behind if
	// negative): the controller's processes measure it, everybody else goes by what the controller has recorded.
	ClockSkew time.Duration
	// LookedAt is when somebody looked at the domain last, as recorded twice a day; zero if nobody has recorded it. See Assessment.Looked.
	LookedAt time.Time
	// Unlisted says that the signer also signs leaves that no Secret holds; nil if it does not.
	Unlisted *Unlisted
	// StageDeadline after which a stage counts as overdue.
	StageDeadline time.Duration
	// Problems that are not those of a single object, such as a node without an address. They stop nothing but what
	// they name.
	Problems []Problem
	// Requests that are recorded for the Secrets of the domain, ordered by kind and Secret.
	Requests []Request
	// Released are the names of leaf Secrets that do not count any more although they may exist.
	Released []string
	// ReleasedMembers are those, as PARTY/MEMBER, that do not count any more at rest although their nodes exist.
	ReleasedMembers []string
	// Absences are proofs that members of the roster are gone, by their AbsenceKey, as far as somebody has asked (Missing).
	Absences map[string]string
	// Roster is who was recorded to count; nil if nothing is recorded yet.
	Roster *Roster
	// RosterProblem says why the record of the roster cannot be read; nil if it can, or if there is none. Nobody can say who
	// counts then.
	RosterProblem *Problem
	// Evidence are the records of what is known of members, also of those that nothing names any more, ordered by name.
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

// Unlisted are leaves that are made from the active CA in the memory of their holders, such as those of certrotation's
// own servers. They count as live from the first CA on.
type Unlisted struct {
	// Drain is how long after a promotion holders may still present a leaf of the former CA.
	Drain time.Duration
}

// Object is what the model knows of a Secret or ConfigMap apart from its certificates.
type Object struct {
	// Name of the Secret or ConfigMap; always set, whether the object exists or not.
	Name string
	// Present says whether the object exists (also when it has a Problem).
	Present bool
	// UID and ResourceVersion of the live object, "" if it does not exist.
	UID, ResourceVersion string
	// Created is the object's creation time.
	Created time.Time
	// Annotations are those whose keys KnownAnnotation reports.
	Annotations map[string]string
	// Labels are those whose keys KnownLabel reports.
	Labels map[string]string
	// Finalizers says that something holds the object back from its deletion, and Deleting that it was deleted and waits
	// for that.
	Finalizers, Deleting bool
	// Immutable says that the API server refuses any change of the content.
	Immutable bool
	// Problem says why the content cannot be used; nil if it can, and if the object does not exist.
	Problem *Problem
}

// Policy says when a certificate is renewed and how its successor is made.
type Policy struct {
	// Profile for the next certificate. The CommonName of a signer is made by pki.GenerationName.
	Profile pki.Profile
	// RenewAtPercent of its validity a certificate is due; between 1 and 99.
	RenewAtPercent int32
	// RenewBefore its end a certificate is due, if that is earlier; zero for not.
	RenewBefore time.Duration
	// JitterPercent of its validity by which a certificate is due earlier at most; between 0 and 20.
	JitterPercent int32
}

// Signer is the CA of a domain: the Secret's slots. A nil slot is empty.
type Signer struct {
	Object
	// Active signs.
	Active *pki.Certificate
	// Next is distributed and may sign only what every verifier already trusts it for.
	Next *pki.Certificate
	// Previous were replaced, newest first; their keys are kept until nothing needs them.
	Previous []*pki.Certificate
	Policy   Policy
}

// Bundle is the published set of trust anchors.
type Bundle struct {
	Object
	// Anchors in the order of the ConfigMap.
	Anchors []*pki.Certificate
	// Stores are the trust stores of the anchors that the ConfigMap is to have besides, ordered by key.
	Stores []TrustStore
	// StoreDigests are those of the values that the ConfigMap has under the keys that AnnotationTrustStores names.
	StoreDigests map[string]string
	// InjectInto are the objects of the cluster whose caBundle the configuration lets have the anchors.
	InjectInto []InjectionTarget
	// ContentHash names everything that the ConfigMap holds (registry/contenthash), "" if that is not known.
	ContentHash string
	// Superseded are the hashes of the contents that this one says it has replaced, newest first: a start gate for one of
	// them lets a pod past.
	Superseded []string
}

// InjectionTarget is an object of the cluster with a caBundle.
type InjectionTarget struct{ Kind, Name string }

// Leaf is one end-entity certificate Secret.
type Leaf struct {
	Object
	// Template is the secretName as the configuration writes it (with {node} where there is one for each node), "" if
	// Unnamed.
	Template string
	// Unnamed says that the configuration does not name the leaf any more. It counts as live until it is released by name
	// or deleted, but it is not issued.
	Unnamed bool
	// Certificate is nil if the Secret does not exist or cannot be read. It is set when only the key is wrong.
	Certificate *pki.Certificate
	// Authorities are the CA certificates that the Secret itself carries, in tls.crt after the leaf and in ca.crt.
	Authorities []*pki.Certificate
	// Anchors are those of ca.crt alone, in order: what programs verify by that mount nothing but this Secret.
	Anchors []*pki.Certificate
	Policy  Policy
	// ContentHash names everything that the Secret holds (registry/contenthash), "" if that is not known.
	ContentHash string
	// Superseded are the hashes of the contents with the same certificate that this one says it has replaced, newest first.
	Superseded []string
}

// EvidenceKind is how a member proves that it has loaded an anchor.
type EvidenceKind string

// Evidence kinds; docs/protocol.md says what each of them proves.
const (
	TLSProbe        EvidenceKind = "tlsProbe"
	Acknowledgement EvidenceKind = "acknowledgement"
	GracePeriod     EvidenceKind = "gracePeriod"
	Renewed         EvidenceKind = "renewed"
	// StaticPodRevision and WorkloadRollout are observations of what a rollout has brought to its nodes or pods: the
	// fingerprints are those of the content that runs.
	StaticPodRevision EvidenceKind = "staticPodRevision"
	WorkloadRollout   EvidenceKind = "workloadRollout"
	// Mounted are observations of the immutable objects, named by their content, that pods mount.
	Mounted EvidenceKind = "mounted"
	// CABundle are observations of what an object of the cluster holds by which kube-apiserver verifies.
	CABundle EvidenceKind = "caBundle"
	// None is the operator's word that a party needs no evidence, with a reason that is shown.
	None EvidenceKind = "none"
)

// observed says whether the kind is proven by observations of the members, not by the state of Secrets or by time.
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
	// Lease of what its members report (kind Acknowledgement).
	Lease time.Duration
	// Verifies are the names of the leaves that this party verifies.
	Verifies []string
	// VerifiesNothing says that the party only presents leaves: a server that asks for no certificate has nothing to load.
	VerifiesNothing bool
	// Grace of the kind GracePeriod; the least time after its renewal from which a leaf counts as presented for the kind
	// Renewed, zero if only a presentation that was observed counts; the time after which kube-apiserver verifies by what a
	// target holds for the kind CABundle.
	Grace time.Duration
	// Reason why the kind None is enough.
	Reason string
	// Reporters are who may acknowledge for the members, nil if a right of the API server decides.
	Reporters *Reporters
	// OfPods says that the members are the pods that a selector chooses. There may be none, and Presents are the names of
	// the leaves that any of them presents.
	OfPods   bool
	Presents []string
	// Selector is the canonical text of what chooses the pods: a label selector, or Mounting.
	Selector string
	// Unlisted says that it is not known yet who these pods are.
	Unlisted bool
	// StartAssumed says that pods without a start gate count too, the weaker proof (kind WorkloadRollout).
	StartAssumed bool
	// Workloads are those that may be restarted to bring the pods what is published (kind WorkloadRollout), in that order.
	Workloads []Workload
	// Mounts are where the pods have their files (kind Mounted).
	Mounts  Mounts
	Members []Member

	// empty says that no pod runs of a party of pods of which some did.
	empty bool
	// recorded says that the party counts because of the roster and not of the configuration.
	recorded bool
	// unwatched says that nobody looks at its members by its kind any more, as the configuration does not ask for that.
	unwatched bool
}

// Member is one place of a relying party in which processes run: a node, a host, or what the operator calls one. It shows
// evidence of something if all of its live processes do.
type Member struct {
	Name string
	// Instance tells a member from another one that had its name before: the UID of its node, or of the pod that it is. ""
	// where nothing tells.
	Instance string
	// Pod is set for a member that is a pod.
	Pod *Pod
	// Workload has made the pod, and Content are the annotations with which the pod names what it starts with
	// (ContentAnnotation); empty where it has none.
	Workload Workload
	Content  map[string]string
	// Holds are the names of the leaves that the member presents.
	Holds []string
	// Probes are where and how the member is probed, one for each address; empty for other kinds than TLSProbe.
	Probes []Probe
	// Observations are the latest ones of each process that was observed, ordered by Instance.
	Observations []Observation
	// RestartedAt is when the member was last seen to restart; zero if unknown. Older observations prove nothing.
	RestartedAt time.Time
}

// Probe are the parameters of a TLS probe of one address of a member.
type Probe struct {
	// Address is host:port. Every address that the host resolves to is one process.
	Address string
	// Unknown says why there is no Address, "" if there is one.
	Unknown string
	// Presents is the name of the leaf that is presented there; "" for none that the domain has.
	Presents string
	// Handshake has the probe present a short-lived leaf of each CA that is to be proven: what the server accepts in a
	// handshake that is carried through is what it has loaded, whatever it lists.
	Handshake bool
	// ServerName for SNI and verification; "" means the host of Address.
	ServerName string
	// ClientLeaf is the name of the leaf Secret to complete the handshake with; "" for none.
	ClientLeaf string
	// Interval between probes while a rotation is in flight, and Timeout of one.
	Interval, Timeout time.Duration
}

// Observation is what one process of a member was seen, or reported, to have loaded.
type Observation struct {
	// Instance identifies the process within its member: the UID of a pod, a resolved address, Pod.Process, or what it
	// calls itself.
	Instance string
	// Kind of evidence that this is; it proves nothing for another kind.
	Kind EvidenceKind
	// Address is the one of the Probe that found it (tlsProbe), or Mounts.Place (mounted).
	Address string
	// Expires is when the evidence ends: what is not renewed is not known any more.
	Expires time.Time
	// ReportedBy is the user who reported it (acknowledgement).
	ReportedBy string
	// ReportedByUID is the UID of that user, "" if it has none.
	ReportedByUID string
	// Trusts are fingerprints of loaded anchors (acknowledgement, staticPodRevision, workloadRollout, mounted, a handshake carried
	// through), or of those that every entry of a target holds (caBundle).
	Trusts []pki.Fingerprint
	// TrustedSubjects are pki.SubjectHash values of acceptable CAs (tlsProbe). A subject that several known CAs
	// share proves nothing.
	TrustedSubjects []string
	// Presents are fingerprints of leaves that the member presents.
	Presents []pki.Fingerprint
	// RecoveredUntil is when the presented leaf ends, if it is valid though the anchors whose key has signed it have expired
	// (tlsProbe): a recovery has made it. Zero otherwise.
	RecoveredUntil time.Time
	// ObservedAt is when the observation last changed; Assess compares it only with RestartedAt.
	ObservedAt time.Time
	// StartedAt is when the reporting process started, zero if unknown. Of a target it is since when it holds all of Trusts
	// (HeldSince).
	StartedAt time.Time
	// Failure says why the last attempt to observe failed, "" if it did not. Everything else then is from before.
	Failure string
}
