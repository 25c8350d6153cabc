// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateMounting requires pods, whose specs show what they mount, and the names of the volumes that count.
func validateMounting(party *RelyingParty, path *field.Path) field.ErrorList {
	errs := seenOnPods(party, path.Child("kind"))
	if party.Evidence.Mounted == nil {
		errs = append(errs, field.Required(path.Child("mounted"), "the kind mounted needs the volumes of the pods: trustVolume shows their anchors, leafVolumes their leaves"))
	}
	return errs
}

// validateMounted requires a volume of anchors if the party verifies leaves, and of leaves if it presents some. It
// refuses others.
func validateMounted(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList {
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
		errs = append(errs, validateVolume(files.TrustVolume, trusts)...)
	}
	if files.TrustKey != "" && files.TrustVolume == "" {
		errs = append(errs, field.Forbidden(path.Child("trustKey"), "it is a key of what trustVolume shows"))
	}
	if files.TrustKey != "" {
		for _, message := range validation.IsConfigMapKey(files.TrustKey) {
			errs = append(errs, field.Invalid(path.Child("trustKey"), files.TrustKey, message))
		}
	}
	return append(errs, validateSet(files.LeafVolumes, leaves, validateVolume)...)
}

func validateVolume(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsDNS1123Label(name) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}
