// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MountedEvidence is the evidence of pods that mount immutable Secrets or ConfigMaps whose names end in a hash of
// their content. The spec of such a pod shows what it has loaded. The objects consent with the annotation
// certrotation.dev/configuration. certrotation does not create them, and does not change the templates of the
// pods.
// +kubebuilder:validation:XValidation:rule="has(self.trustVolume) || has(self.leafVolumes)",message="name the volume that shows the anchors of the pods in trustVolume, or those with their leaves in leafVolumes, or both"
// +kubebuilder:validation:XValidation:rule="!has(self.trustKey) || has(self.trustVolume)",message="trustKey is a key of what trustVolume shows"
type MountedEvidence struct {
	// trustVolume is the name of the volume with the anchors that the pods verify with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	TrustVolume string `json:"trustVolume,omitempty"`
	// trustKey is the key of the object with these anchors. Defaults to ca-bundle.crt.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TrustKey string `json:"trustKey,omitempty"`
	// leafVolumes are the names of the volumes with the leaves that the pods present, each under the key tls.crt of
	// its Secret.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	LeafVolumes []string `json:"leafVolumes,omitempty"`
}

// mountedEvidence: the immutable objects that pods mount.
func mountedEvidence() evidenceType {
	return evidenceType{
		kind:     EvidenceMounted,
		validate: validateMounted,
		setDefaults: func(party *RelyingParty) {
			if files := party.Evidence.Mounted; files.TrustVolume != "" {
				files.TrustKey = cmp.Or(files.TrustKey, DefaultTrustKey)
			}
		},
	}
}

// validateMounted requires a volume of anchors if the party verifies leaves, and of leaves if it presents some. It
// refuses others.
func validateMounted(party *RelyingParty, domain *declaredDomain, at *field.Path) field.ErrorList {
	path := at.Child("mounted")
	files := party.Evidence.Mounted
	trusts, leaves := path.Child("trustVolume"), path.Child("leafVolumes")
	var errs field.ErrorList
	switch verifies := domain.verifiesAnything(party); {
	case verifies && files.TrustVolume == "":
		errs = append(errs, field.Required(trusts, "the party verifies leaves: name the volume of its pods with the anchors, or say verifies: {nothing: true}"))
	case !verifies && files.TrustVolume != "":
		errs = append(errs, field.Forbidden(trusts, "the party verifies nothing"))
	}
	switch presents := len(party.Presents) > 0; {
	case presents && len(files.LeafVolumes) == 0:
		errs = append(errs, field.Required(leaves, "the party presents leaves: name the volumes of its pods with their Secrets"))
	case !presents && len(files.LeafVolumes) > 0:
		errs = append(errs, field.Forbidden(leaves, "the party presents nothing"))
	}
	if files.TrustVolume != "" {
		errs = append(errs, validateLabelName(files.TrustVolume, trusts)...)
	}
	if files.TrustKey != "" {
		errs = append(errs, invalid(path.Child("trustKey"), files.TrustKey, validation.IsConfigMapKey(files.TrustKey))...)
	}
	return append(errs, validateEach(files.LeafVolumes, leaves, validateLabelName)...)
}
