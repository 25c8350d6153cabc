// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

// consent is the annotation of a Secret without which no controller goes on with what a recovery has made: the one that it had,
// or, where nothing is known of it, that of the signers, if they agree.
func (v *vault) consent(name string) map[string]string {
	if secret := v.secrets[name]; secret != nil {
		return consentOf(secret)
	}
	var agreed map[string]string
	for _, signer := range v.signers {
		consent := consentOf(v.secrets[signer.Name])
		if agreed != nil && agreed[trust.AnnotationConfiguration] != consent[trust.AnnotationConfiguration] {
			return nil
		}
		agreed = consent
	}
	return agreed
}

// consentOf is the consent of an object, nil if it has none.
func consentOf(object metav1.Object) map[string]string {
	configuration, ok := object.GetAnnotations()[trust.AnnotationConfiguration]
	if !ok {
		return nil
	}
	return map[string]string{trust.AnnotationConfiguration: configuration}
}
