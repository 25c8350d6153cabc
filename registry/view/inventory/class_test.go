// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

func TestClassOfARollout(t *testing.T) {
	t.Parallel()
	class := func(edit func(*configv1alpha1.StaticPodClass)) *configv1alpha1.StaticPodClass {
		out := &configv1alpha1.StaticPodClass{ObjectMeta: metav1.ObjectMeta{Name: "etcd"}, Spec: configv1alpha1.StaticPodClassSpec{
			Namespaces: []string{testNamespace}, PodName: "web", Image: "certrotation@sha256:" + strings.Repeat("a", 64),
			Pod: configv1alpha1.PermittedPod{Images: []string{"web"}},
		}}
		edit(out)
		return out
	}
	with := func(companion string) func(*configv1alpha1.StaticPodClass) {
		return func(c *configv1alpha1.StaticPodClass) {
			c.Spec.Companions = []configv1alpha1.PermittedCompanion{{PodName: companion, Pod: configv1alpha1.PermittedPod{Images: []string{"x"}}}}
		}
	}
	for name, tc := range map[string]struct {
		edit   func(*configv1alpha1.StaticPodClass)
		reason trust.Reason
		want   string
		// companions of the rollout.
		companions string
	}{
		"permitted":         {edit: func(*configv1alpha1.StaticPodClass) {}},
		"another class":     {edit: func(c *configv1alpha1.StaticPodClass) { c.Name = "other" }, reason: inventory.ReasonNoClass, want: "it does not exist"},
		"another namespace": {edit: func(c *configv1alpha1.StaticPodClass) { c.Spec.Namespaces = []string{"other"} }, reason: inventory.ReasonClassRefuses, want: "does not list the namespace"},
		"another pod":       {edit: func(c *configv1alpha1.StaticPodClass) { c.Spec.PodName = "etcd" }, reason: inventory.ReasonClassRefuses, want: "permits the static pod etcd, and not web"},
		"a tag":             {edit: func(c *configv1alpha1.StaticPodClass) { c.Spec.Image = "certrotation:1" }, reason: inventory.ReasonNoClass, want: "spec.image"},
		"a companion":       {edit: with("proxy"), companions: "[proxy]"},
		"another companion": {edit: with("proxy"), companions: "[other]", reason: inventory.ReasonClassRefuses, want: "does not permit the static pod other beside web"},
	} {
		t.Run(name, func(t *testing.T) {
			text := rolloutOf("web")
			if tc.companions != "" {
				text += "    companions: " + tc.companions + "\n"
			}
			s := sources(t, configuration("config", text), node("n1", "10.0.0.1"))
			stored := class(tc.edit)
			s.Classes = map[string]*inventory.Class{stored.Name: inventory.ParseClass(stored)}
			r := inventory.Build(s).Rollouts[0]
			if tc.want == "" {
				if r.ClassProblem != nil || r.Class == nil || r.Class.ResourceDirectory != configv1alpha1.DefaultResourceDirectory {
					t.Errorf("class %+v, problem %+v", r.Class, r.ClassProblem)
				}
				return
			}
			if p := r.ClassProblem; r.Class != nil || p == nil || p.Reason != tc.reason || !strings.Contains(p.Message, tc.want) || p.Object != "StaticPodClass/etcd" {
				t.Errorf("class %+v, problem %+v, want %s: %s", r.Class, p, tc.reason, tc.want)
			}
		})
	}
}
