// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=rotrec
// +kubebuilder:printcolumn:name="Domain",type=string,JSONPath=`.spec.trustDomain`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind`
// +kubebuilder:printcolumn:name="Subject",type=string,JSONPath=`.spec.subject`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// RotationRecord is one fact that certrotation stores about a trust domain. Only the controller and the API server
// of certrotation write records. Users make requests through the subresources of a CertificateRotation. Each fact
// is one object, so that thousands of members do not contend for one. It is written only when its content changes.
type RotationRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the recorded fact.
	Spec RotationRecordSpec `json:"spec"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// RotationRecordList is a list of RotationRecords.
type RotationRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RotationRecord `json:"items"`
}

// RecordKind names the field of a record that is set.
// +kubebuilder:validation:Enum=Request;Roster;Waiver;Evidence;Refusal;Clock
type RecordKind string

// Record kinds.
const (
	RecordRequest  RecordKind = "Request"
	RecordRoster   RecordKind = "Roster"
	RecordWaiver   RecordKind = "Waiver"
	RecordEvidence RecordKind = "Evidence"
	RecordRefusal  RecordKind = "Refusal"
	RecordClock    RecordKind = "Clock"
)

// RotationRecordSpec is the content of a record. Exactly the field that its kind names is set.
// +kubebuilder:validation:XValidation:rule="has(self.request) == (self.kind == 'Request') && has(self.roster) == (self.kind == 'Roster') && has(self.waiver) == (self.kind == 'Waiver') && has(self.evidence) == (self.kind == 'Evidence') && has(self.refusal) == (self.kind == 'Refusal') && has(self.clock) == (self.kind == 'Clock')",message="exactly the field that kind names must be set"
type RotationRecordSpec struct {
	// trustDomain that the record belongs to.
	// +kubebuilder:validation:MaxLength=253
	TrustDomain string `json:"trustDomain"`
	// kind of the record.
	Kind RecordKind `json:"kind"`
	// subject is what the record is about, for display: a Secret, a member as PARTY/MEMBER, an object as Kind/name.
	// +optional
	// +kubebuilder:validation:MaxLength=600
	Subject string `json:"subject,omitempty"`
	// request for a rotation, to abort one, or to install a CA. It is identified by the UID of the record.
	// +optional
	Request *RecordedRequest `json:"request,omitempty"`
	// roster of the trust domain.
	// +optional
	Roster *RecordedRoster `json:"roster,omitempty"`
	// waiver of one member.
	// +optional
	Waiver *RecordedWaiver `json:"waiver,omitempty"`
	// evidence of one member.
	// +optional
	Evidence *RecordedEvidence `json:"evidence,omitempty"`
	// refusal of a write by the API server.
	// +optional
	Refusal *RecordedRefusal `json:"refusal,omitempty"`
	// clock of the controller.
	// +optional
	Clock *RecordedClock `json:"clock,omitempty"`
}

// RequestKind is what a user requests.
// +kubebuilder:validation:Enum=Rotate;Abort;Install
type RequestKind string

// Request kinds.
const (
	RequestRotate  RequestKind = "Rotate"
	RequestAbort   RequestKind = "Abort"
	RequestInstall RequestKind = "Install"
)

// RecordedRequest is a request of a user.
type RecordedRequest struct {
	// kind of the request.
	Kind RequestKind `json:"kind"`
	// secretName of the requested signer or leaf.
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// reason that the user gave for the request.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
	// compromised is true if trust in the key must end as soon as possible.
	// +optional
	Compromised bool `json:"compromised,omitempty"`
	// newest is the fingerprint of the newest CA of the trust domain at the time of the request. Empty if there was none.
	// A newer one answers a request to another controller.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Newest string `json:"newest,omitempty"`
	// certificates are the CA that a signer has requested, and its issuers, as PEM (kind Install).
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Certificates string `json:"certificates,omitempty"`
	// requestedBy is the user who made the request.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	RequestedBy string `json:"requestedBy,omitempty"`
}

// RecordedRoster lists the members and leaves that count in a trust domain. The members must prove their trust
// before a new key signs. The leaves may be in use. Entries are added at any time, and removed only with proof
// that they are gone.
type RecordedRoster struct {
	// signers are the names of the Secrets that are or were the signer of the trust domain, ordered. Their CAs belong
	// to the trust domain.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Signers []string `json:"signers,omitempty"`
	// members, ordered by party and member.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	Members []RosterMember `json:"members,omitempty"`
	// pods are the members that are pods, in groups with the same requirements.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	Pods []RosterPods `json:"pods,omitempty"`
	// leaves are the names of the leaf Secrets, ordered.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	Leaves []string `json:"leaves,omitempty"`
	// populated are the names of the relying parties of pods whose selector has ever selected a pod, each with a hash
	// of the selector, ordered. Such a selector counts as correct, even while no pod runs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=262
	Populated []string `json:"populated,omitempty"`
	// issued is true if leaves were ever issued. A started member may still present one after its Secret is gone.
	// +optional
	Issued bool `json:"issued,omitempty"`
	// mayHaveSigned are the fingerprints of CAs that may have signed leaves before their promotion, the latest last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	MayHaveSigned []string `json:"mayHaveSigned,omitempty"`
	// neverSigned are the fingerprints of CAs that have signed no leaf and never will: their rotations were aborted
	// before that.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	NeverSigned []string `json:"neverSigned,omitempty"`
}

// RosterPods are pods of one relying party with the same requirements.
type RosterPods struct {
	// party is the name of the relying party.
	// +kubebuilder:validation:MaxLength=253
	Party string `json:"party"`
	// instances are the pods as NAME/UID, ordered.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MaxLength=507
	Instances []string `json:"instances"`
	// evidence is the kind of evidence that each of them needs.
	Evidence EvidenceKind `json:"evidence"`
	// grace is the period of the kind gracePeriod, or the minimum delay of the kind renewed.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('8760h')",message="must be a duration between 0s and 8760h"
	Grace *metav1.Duration `json:"grace,omitempty"`
	// verifies and presents are names of leaf Secrets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	Verifies []string `json:"verifies,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	Presents []string `json:"presents,omitempty"`
	// verifiesNothing is true if the pods only present leaves.
	// +optional
	VerifiesNothing bool `json:"verifiesNothing,omitempty"`
	// started is true if a container of each of these pods was started.
	// +optional
	Started bool `json:"started,omitempty"`
}

// RosterMember is one member of the roster that is not a pod.
type RosterMember struct {
	// party and member are the names of the relying party and of its member.
	// +kubebuilder:validation:MaxLength=253
	Party string `json:"party"`
	// +kubebuilder:validation:MaxLength=253
	Member string `json:"member"`
	// instance is the UID of the node if the party has one member for each node. Empty otherwise.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Instance string `json:"instance,omitempty"`
	// evidence is the kind of evidence that the member needs.
	Evidence EvidenceKind `json:"evidence"`
	// grace is the period of the kind gracePeriod, or the minimum delay of the kind renewed.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('8760h')",message="must be a duration between 0s and 8760h"
	Grace *metav1.Duration `json:"grace,omitempty"`
	// verifies and presents are names of leaf Secrets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	Verifies []string `json:"verifies,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	Presents []string `json:"presents,omitempty"`
	// verifiesNothing is true if the member only presents leaves.
	// +optional
	VerifiesNothing bool `json:"verifiesNothing,omitempty"`
	// started is true if the member may be running: its leaves were issued before, or it was observed.
	// +optional
	Started bool `json:"started,omitempty"`
	// absent is the proof that the member is gone. Empty if there is none. It has no effect once the configuration
	// names the member again.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Absent string `json:"absent,omitempty"`
}

// RecordedWaiver lets one rotation continue without the evidence of one member, by a user's decision.
type RecordedWaiver struct {
	// +kubebuilder:validation:MaxLength=253
	Party string `json:"party"`
	// +kubebuilder:validation:MaxLength=253
	Member string `json:"member"`
	// reason explains why the rotation need not wait for the member.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
	// expires is when the waiver ends.
	Expires metav1.Time `json:"expires"`
	// rotatedFrom is the fingerprint of the CA that is active when the rotation begins. Empty if there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RotatedFrom string `json:"rotatedFrom,omitempty"`
	// rotatedTo is the fingerprint of the CA that the rotation introduces. Empty if none was in flight.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RotatedTo string `json:"rotatedTo,omitempty"`
	// waivedBy is the user who made the waiver.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	WaivedBy string `json:"waivedBy,omitempty"`
}

// RecordedEvidence is what was observed of, or reported by, the processes of one member.
type RecordedEvidence struct {
	// +kubebuilder:validation:MaxLength=253
	Party string `json:"party"`
	// +kubebuilder:validation:MaxLength=253
	Member string `json:"member"`
	// processes are the live processes of the member, ordered by instance.
	// +optional
	// +listType=map
	// +listMapKey=instance
	// +kubebuilder:validation:MaxItems=256
	Processes []ProcessEvidence `json:"processes,omitempty"`
}

// ProcessEvidence is what one process has loaded, as it was observed or as the process reported.
type ProcessEvidence struct {
	// instance identifies the process within its member: the UID of a pod, a resolved address, or a name that the
	// process gives itself.
	// +kubebuilder:validation:MaxLength=253
	Instance string `json:"instance"`
	// kind of this evidence. It does not count if another kind is required.
	Kind EvidenceKind `json:"kind"`
	// address that was probed, as the configuration writes it.
	// +optional
	// +kubebuilder:validation:MaxLength=300
	Address string `json:"address,omitempty"`
	// trusts are the fingerprints of the anchors that are loaded.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Trusts []string `json:"trusts,omitempty"`
	// trustedSubjects are the hashes of the subjects that the process lists as acceptable authorities.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	TrustedSubjects []string `json:"trustedSubjects,omitempty"`
	// presents are the fingerprints of the leaves that it presents.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Presents []string `json:"presents,omitempty"`
	// recoveredUntil is the end of a presented leaf that is valid although the known anchors of its signing key have
	// expired, as after a recovery.
	// +optional
	RecoveredUntil *metav1.MicroTime `json:"recoveredUntil,omitempty"`
	// observedAt is when this was last observed, by the clock of the writer of the record.
	ObservedAt metav1.MicroTime `json:"observedAt"`
	// expires is when the evidence stops counting.
	Expires metav1.MicroTime `json:"expires"`
	// startedAt is when the process started. For an object with a caBundle, it is the time since which the object
	// holds all of trusts.
	// +optional
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`
	// failure explains why the last observation failed.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Failure string `json:"failure,omitempty"`
	// reportedBy is the user who reported it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ReportedBy string `json:"reportedBy,omitempty"`
	// reportedByUID is the UID of that user, if the API server knows one. It distinguishes an account from a later
	// one with the same name.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ReportedByUID string `json:"reportedByUID,omitempty"`
}

// RecordedRefusal is a write by the controller that the API server refuses.
type RecordedRefusal struct {
	// object as Kind/name, such as ConfigMap/etcd-ca-bundle.
	// +kubebuilder:validation:MaxLength=300
	Object string `json:"object"`
	// verb of the request: create, update or delete. It is restart for a workload whose pods must restart and do not.
	// +kubebuilder:validation:MaxLength=32
	Verb string `json:"verb"`
	// answer is the error message of the API server, or why the workload is not restarted.
	// +kubebuilder:validation:MaxLength=4096
	Answer string `json:"answer"`
	// since is when the write was first refused.
	Since metav1.Time `json:"since"`
}

// RecordedClock records until when a controller has watched the trust domain. If the clock of the controller is
// off, it also records by how much. The controller then does nothing in the trust domain.
type RecordedClock struct {
	// lookedAt is when the controller last assessed the trust domain, written twice a day. A certificate whose end is
	// much later may still be in use, even if it has expired by the clock. If days pass without a look, as when the
	// clock jumps, it stays until all CAs and leaves from before were replaced.
	// +optional
	LookedAt *metav1.Time `json:"lookedAt,omitempty"`
	// skewSeconds is how far the clock of the controller is ahead of the clocks of the API server and of the
	// kubelets. Negative if it is behind. Zero if nothing is held because of it.
	// +optional
	// +kubebuilder:validation:Minimum=-5000000000
	// +kubebuilder:validation:Maximum=5000000000
	SkewSeconds int64 `json:"skewSeconds,omitempty"`
}
