// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

func domain() []runtime.Object {
	unready := func(o *v1alpha1.CertificateRotation) {
		o.Status.Certificate.NotAfter = metav1.NewTime(testNow.Add(-3 * time.Hour))
		o.Status.RotatesAt = at(-time.Hour)
		o.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, false, "the certificate expired at 2026-03-01T09:00:00Z")}
	}
	missing := func(o *v1alpha1.CertificateRotation) {
		o.Status.Certificate, o.Status.RotatesAt = nil, nil
		o.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, false, "Secret/service-client-c does not exist")}
	}
	return []runtime.Object{
		signer(distributing), bundle(),
		leaf("service-server", oldCA), leaf("service-client-a", oldCA, unready),
		leaf("service-client-b", ""), leaf("service-client-c", oldCA, missing),
	}
}

func stableDomain(namespace string) []runtime.Object {
	s, l := signer(), leaf("service-server", oldCA)
	s.Namespace, l.Namespace = namespace, namespace
	return []runtime.Object{s, l}
}

// other is a domain at rest without a bundle. Nothing is known of one of its members, one verifies nothing, and one is
// waived.
func other() []runtime.Object {
	objects := stableDomain("other")
	decided(objects[0].(*v1alpha1.CertificateRotation))
	return objects
}

// stuckRollout edits a signer: no rotation is in flight, and its rollout is stuck.
func stuckRollout(o *v1alpha1.CertificateRotation) {
	since := func(c metav1.Condition, ago time.Duration) metav1.Condition {
		c.LastTransitionTime = *at(-ago)
		return c
	}
	o.Status.Conditions = append(o.Status.Conditions,
		condition(v1alpha1.ConditionDegraded, true, "rollout etcd: Node/n2: its pod is not Ready"),
		since(condition("NodeControllerDegraded", false, "All selected nodes are ready"), time.Hour),
		since(condition("NodeInstallerProgressing", true, "3 nodes are selected; 2 of them do not have revision 7 yet: n2, n3"), 26*time.Minute),
		since(condition("StaticPodsAvailable", true, "2 nodes are active\x1b[2J"), 3*time.Hour),
		since(condition("StaticPodsDegraded", true, "n2: etcd is in CrashLoopBackOff"), 20*time.Minute),
	)
	o.Status.Blockers = []v1alpha1.Blocker{{Member: "n2", Object: "Node/n2", Reason: "StaticPodPending", Message: "its pod is not Ready", Since: at(-25 * time.Minute)}}
}

// decided edits a signer: the evidence of most of its members is missing.
func decided(o *v1alpha1.CertificateRotation) {
	m := o.Status.Members
	m[0].VerifiesNothing, m[0].Trusted = true, false
	m[1].Known, m[1].Trusted, m[1].Delivered, m[1].Message = false, false, false, "has last acknowledged 3h ago"
	m[2].Waiver = &v1alpha1.MemberWaiver{Reason: "INC-7:\nhost is gone", WaivedBy: "ada", Expires: *at(24 * time.Hour)}
	o.Status.Members = append(m, v1alpha1.MemberStatus{
		Party: "people", Member: "people", Evidence: "none", Known: true, Trusted: true, Delivered: true, Reason: "they click it away",
	})
	o.Status.Trust = v1alpha1.TrustCount{Trusted: 2, Total: 3, Unknown: 1}
}

func TestTree(t *testing.T) {
	tests := []struct {
		name    string
		objects []runtime.Object
		args    []string
		width   int
		edit    func(*shell)
		golden  string
	}{
		{name: "in a pipe", objects: domain(), args: []string{"tree"}, golden: "tree-ascii.txt"},
		{name: "on a terminal without colour", objects: domain(), args: []string{"tree"}, width: 100, edit: func(s *shell) { s.environment["NO_COLOR"] = "1" }, golden: "tree-unicode.txt"},
		{name: "with colour", objects: domain(), args: []string{"tree"}, width: 100, golden: "tree-colour.txt"},
		{name: "ASCII asked for", objects: domain(), args: []string{"tree", "--ascii"}, width: 100, edit: func(s *shell) { s.environment["NO_COLOR"] = "1" }, golden: "tree-ascii.txt"},
		{name: "terminal of another locale", objects: domain(), args: []string{"tree"}, width: 100, edit: func(s *shell) {
			s.environment["NO_COLOR"], s.environment["LC_ALL"] = "1", "C"
		}, golden: "tree-ascii.txt"},
		{name: "of a leaf", objects: domain(), args: []string{"tree", "service-server"}, golden: "tree-ascii.txt"},
		{name: "all namespaces", objects: append(stableDomain("b"), stableDomain("a")...), args: []string{"tree", "-A"}, golden: "tree-all.txt"},
		{name: "overdue", objects: []runtime.Object{signer(distributing, func(o *v1alpha1.CertificateRotation) {
			o.Status.StageDeadline = at(-5 * time.Minute)
		})}, args: []string{"tree"}, golden: "tree-overdue.txt"},
		{name: "of what a rollout brings to nodes", objects: []runtime.Object{signer(stuckRollout)}, args: []string{"tree"}, golden: "tree-rollout.txt"},
		{name: "of a rollout, as YAML", objects: []runtime.Object{signer(stuckRollout)}, args: []string{"tree", "-o", "yaml"}, golden: "tree-rollout.yaml"},
		{name: "of what nobody knows, and of what people have decided", objects: []runtime.Object{signer(decided)}, args: []string{"tree"}, golden: "tree-decided.txt"},
		{name: "YAML", objects: domain(), args: []string{"tree", "-o", "yaml"}, golden: "tree.yaml"},
		{name: "JSONPath", objects: append(stableDomain("b"), stableDomain("a")...), args: []string{"tree", "-A", "-o", "jsonpath={.domains[*].namespace}"}, golden: "tree-jsonpath.txt"},
		{name: "a template without -o", objects: append(stableDomain("b"), stableDomain("a")...), args: []string{
			"tree", "-A", "--template", "{{range .domains}}{{.namespace}} {{end}}",
		}, golden: "tree-template.txt"},
		{name: "DOT", objects: domain(), args: []string{"tree", "-o", "dot"}, golden: "tree.dot"},
		{name: "Mermaid", objects: append(domain(), other()...), args: []string{"tree", "-A", "-o", "mermaid"}, golden: "tree.mermaid"},
		{name: "SVG", objects: domain(), args: []string{"tree", "-o", "svg"}, golden: "tree.svg"},
		{name: "DOT of nothing", args: []string{"tree", "-o", "dot"}, golden: "tree-empty.dot"},
		{name: "JSON of nothing", args: []string{"tree", "-o", "json"}, golden: "tree-empty.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t, tt.objects...)
			s.width = tt.width
			if tt.edit != nil {
				tt.edit(s)
			}
			golden(t, tt.golden, s.ok(t, tt.args...))
		})
	}
}

func TestTreeReadsOnlyTheTwoResources(t *testing.T) {
	s := newShell(t, domain()...)
	s.ok(t, "tree", "service-server")
	for _, action := range actions(s) {
		resource := action.GetResource().Resource
		if verb := action.GetVerb(); (verb != "get" && verb != "list") || (resource != "certificaterotations" && resource != "bundlestatuses") {
			t.Errorf("tree does %s %s", verb, resource)
		}
	}
}
