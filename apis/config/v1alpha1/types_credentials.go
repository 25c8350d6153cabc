// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Credentials describes the whole whose editions rotate together, in the phases of status.credentials. The annotation
// gardener.cloud/operation of the configuration asks for an operation; the controller that writes the editions executes
// it, and keeps what is said here up to date. An operation that is not possible is refused.
type Credentials struct {
	// workerPools are the names of the pools of workers, which get new CAs when they are rolled out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	WorkerPools []string `json:"workerPools,omitempty"`
	// hibernated is true while nothing runs. Then only CAs can rotate.
	// +optional
	Hibernated bool `json:"hibernated,omitempty"`
	// leaving is true while the whole is being deleted, migrated or restored. Then no rotation begins.
	// +optional
	Leaving bool `json:"leaving,omitempty"`
	// manualUpdatePending is true until a person has updated workers in place. A rotation does not begin, and CAs are
	// not prepared, before.
	// +optional
	ManualUpdatePending bool `json:"manualUpdatePending,omitempty"`
}

// CredentialsStatus is the state of the rotations of credentials. All CAs have one state, and rotate in lockstep.
type CredentialsStatus struct {
	// certificateAuthorities is the state of all CAs.
	// +optional
	CertificateAuthorities CredentialRotation `json:"certificateAuthorities,omitzero"`
	// serviceAccountKey is the state of the key that signs tokens of service accounts.
	// +optional
	ServiceAccountKey CredentialRotation `json:"serviceAccountKey,omitzero"`
	// etcdEncryptionKey is the state of the key that encrypts what etcd stores.
	// +optional
	ETCDEncryptionKey CredentialRotation `json:"etcdEncryptionKey,omitzero"`
	// rewritten is true if the current encryption key has encrypted everything that is stored.
	// +optional
	Rewritten bool `json:"rewritten,omitempty"`
	// executed is a checksum of the operations that are recorded here, while their annotation is still there.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Executed string `json:"executed,omitempty"`
	// refused says why the last operations were not executed. Empty if they were.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Refused string `json:"refused,omitempty"`
}

// CredentialPhase is a phase of the rotation of credentials, by Gardener's names. Empty if they were never rotated.
// +kubebuilder:validation:Enum="";Preparing;PreparingWithoutWorkersRollout;WaitingForWorkersRollout;Prepared;Completing;Completed
type CredentialPhase string

// Phases, in their order. The second and the third are those of a rotation that leaves worker pools as they are at
// first.
const (
	// PhasePreparing makes the new credentials. Bundles have both CAs, clients get leaves of the new ones.
	PhasePreparing                      CredentialPhase = "Preparing"
	PhasePreparingWithoutWorkersRollout CredentialPhase = "PreparingWithoutWorkersRollout"
	PhaseWaitingForWorkersRollout       CredentialPhase = "WaitingForWorkersRollout"
	// PhasePrepared waits until the owner says that every client outside has the new credentials.
	PhasePrepared CredentialPhase = "Prepared"
	// PhaseCompleting reissues the servers, and then drops the former credentials.
	PhaseCompleting CredentialPhase = "Completing"
	PhaseCompleted  CredentialPhase = "Completed"
)

// CredentialRotation is the state of one rotation, with the field names of Gardener's status.credentials.rotation.
type CredentialRotation struct {
	// phase of the rotation.
	// +optional
	Phase CredentialPhase `json:"phase,omitempty"`
	// lastInitiationTime is when the last rotation began. It decides the names of the current CAs and keys.
	// +optional
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
	// lastInitiationFinishedTime is when the phase became Prepared.
	// +optional
	LastInitiationFinishedTime *metav1.Time `json:"lastInitiationFinishedTime,omitempty"`
	// lastCompletionTriggeredTime is when the phase became Completing.
	// +optional
	LastCompletionTriggeredTime *metav1.Time `json:"lastCompletionTriggeredTime,omitempty"`
	// lastCompletionTime is when the last rotation was completed.
	// +optional
	LastCompletionTime *metav1.Time `json:"lastCompletionTime,omitempty"`
	// pendingWorkersRollouts are the worker pools that do not have the new credentials yet.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	PendingWorkersRollouts []PendingWorkersRollout `json:"pendingWorkersRollouts,omitempty"`
	// formerInitiationTime is lastInitiationTime of the rotation before, to which an abort returns. It is not one of
	// Gardener's fields.
	// +optional
	FormerInitiationTime *metav1.Time `json:"formerInitiationTime,omitempty"`
	// serversReissued is true if, while completing, every server presents a leaf of the current CA. It is not one of
	// Gardener's fields: there, servers are reissued and the former CAs dropped in one step.
	// +optional
	ServersReissued bool `json:"serversReissued,omitempty"`
	// keyKnown is true if, while a key is prepared, every replica accepts the new one, so that it can be used. It is
	// not one of Gardener's fields.
	// +optional
	KeyKnown bool `json:"keyKnown,omitempty"`
}

// PendingWorkersRollout is a worker pool that does not have the new credentials yet.
type PendingWorkersRollout struct {
	// name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// lastInitiationTime is when the rotation began whose credentials it has.
	// +optional
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
}
