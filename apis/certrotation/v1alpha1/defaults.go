// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func addDefaultingFuncs(scheme *runtime.Scheme) error {
	return RegisterDefaults(scheme)
}

// SetDefaults_Acknowledgement names the member as the party, for parties with a single member.
func SetDefaults_Acknowledgement(obj *Acknowledgement) {
	if obj.Member == "" {
		obj.Member = obj.Party
	}
	if obj.Instance == "" && !obj.StartedAt.IsZero() {
		// Two processes of a member do not start at the same microsecond.
		obj.Instance = "started-" + obj.StartedAt.UTC().Format(metav1.RFC3339Micro)
	}
}

// SetDefaults_Waiver names the member as the party, for parties with a single member.
func SetDefaults_Waiver(obj *Waiver) {
	if obj.Member == "" {
		obj.Member = obj.Party
	}
}
