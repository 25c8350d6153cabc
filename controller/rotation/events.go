// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/display"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// Reasons of events. The first three are library-go's, which people already watch for; their texts begin like
// library-go's.
const (
	EventSignerUpdateRequired   = "SignerUpdateRequired"
	EventTargetUpdateRequired   = "TargetUpdateRequired"
	EventCABundleUpdateRequired = "CABundleUpdateRequired"
	EventAggregateUpdate        = "AggregateUpdateRequired"
	EventIssuanceRequested      = "IssuanceRequested"
	EventSignerPromoted         = "SignerPromoted"
	EventAuthorityRequested     = string(trust.ReasonAuthorityRequested)
	EventPreviousKeyDestroyed   = "PreviousKeyDestroyed"
	EventRotationAborted        = "RotationAborted"
	EventRequestCleared         = "RequestCleared"
	EventRosterRecorded         = "RosterRecorded"
	EventWriteRefused           = string(trust.ReasonWriteRefused)
	EventMemberWaived           = "MemberWaived"
	EventWaiverEnded            = "WaiverEnded"
	EventStageChanged           = "StageChanged"
	EventRotationBlocked        = "RotationBlocked"
	EventRotationCompleted      = "RotationCompleted"
	EventObjectProblem          = string(trust.ReasonObjectProblem)
	EventInvalidConfiguration   = string(inventory.ReasonInvalidConfiguration)
)

// announce emits an event on a written object: what was done with it, and why. The texts begin like library-go's,
// which say what is required.
func (c *Controller) announce(o metav1.Object, action *trust.Action) {
	reason, what := announcement(action.Kind)
	if reason == "" {
		return
	}
	ref := referenceOf(o.GetNamespace(), objectOf(action), o.GetUID())
	ref.ResourceVersion = o.GetResourceVersion()
	c.emit(ref, corev1.EventTypeNormal, reason, string(action.Kind),
		fmt.Sprintf("%q in %q %s: %s", action.Object, o.GetNamespace(), what, action.Reason))
}

// announcement returns the reason and the text of the event about an action, "" for one that changes no certificate.
func announcement(kind trust.ActionKind) (reason, what string) {
	switch kind {
	case trust.GenerateActive, trust.GenerateNext:
		return EventSignerUpdateRequired, "requires a new signing cert/key pair"
	case trust.RequestAuthority:
		return EventAuthorityRequested, "requires a signing cert that its issuer signs"
	case trust.InstallNext:
		return EventSignerUpdateRequired, "takes the signing cert that was requested"
	case trust.DropRequest:
		return EventRotationAborted, "drops the key for which a signing cert was requested"
	case trust.IssueLeaf:
		return EventTargetUpdateRequired, "requires a new target cert/key pair"
	case trust.UpdateLeafAnchors:
		return EventTargetUpdateRequired, "requires other CA certs beside its pair"
	case trust.WriteKeystores:
		return EventTargetUpdateRequired, "requires its keystores anew"
	case trust.PublishAnchors:
		return EventCABundleUpdateRequired, "requires a new cert"
	case trust.RetireAnchors:
		return EventCABundleUpdateRequired, "requires fewer certs"
	case trust.WriteTrustStores:
		return EventCABundleUpdateRequired, "requires its trust stores anew"
	case trust.Promote:
		return EventSignerPromoted, "signs with its next CA from now on"
	case trust.DestroyPrevious:
		return EventPreviousKeyDestroyed, "loses the keys that it no longer signs with"
	case trust.DropNext:
		return EventRotationAborted, "drops its next CA"
	case trust.RecordRoster:
		return EventRosterRecorded, "says who counts"
	case trust.WriteAggregateSecret, trust.WriteAggregateConfigMap:
		return EventAggregateUpdate, "is brought up to date"
	case trust.RecordMetadata, trust.ClearRequest, trust.DropEvidence, trust.RequestIssuance:
	}
	return "", ""
}

func (c *Controller) emit(ref *corev1.ObjectReference, eventType, reason, action, note string) {
	c.recorder.Eventf(ref, nil, eventType, reason, action, "%s", display.Note(note))
}

// referenceOf returns the reference to an object that is named Kind/name.
func referenceOf(namespace, named string, uid types.UID) *corev1.ObjectReference {
	kind, name, _ := strings.Cut(named, "/")
	version := corev1.SchemeGroupVersion
	if kind == string(trust.RecordKind) || kind == string(inventory.ConfigurationKind) {
		version = configv1alpha1.SchemeGroupVersion
	}
	return &corev1.ObjectReference{APIVersion: version.String(), Kind: kind, Namespace: namespace, Name: name, UID: uid}
}
