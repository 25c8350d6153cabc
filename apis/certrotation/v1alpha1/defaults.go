// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
)

func addDefaultingFuncs(scheme *runtime.Scheme) error {
	return RegisterDefaults(scheme)
}

// SetDefaults_Acknowledgement lets a party with a single member leave the member out: it has the name of the party.
func SetDefaults_Acknowledgement(obj *Acknowledgement) {
	if obj.Member == "" {
		obj.Member = obj.Party
	}
}
