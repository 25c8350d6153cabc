// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	kyaml "sigs.k8s.io/yaml"
)

// rendered holds the roles and bindings of a kustomization. Namespaced ones are read as cluster-wide kinds with a
// namespace.
type rendered struct {
	roles    []rbacv1.ClusterRole
	bindings []rbacv1.ClusterRoleBinding
}

func render(t *testing.T, dir string) *rendered {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(manifests, dir))
	if err != nil {
		t.Fatal(err)
	}
	out := &rendered{}
	for _, resource := range resources.Resources() {
		data, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		switch resource.GetKind() {
		case "Role", "ClusterRole":
			var role rbacv1.ClusterRole
			if err := kyaml.Unmarshal(data, &role); err != nil {
				t.Fatal(err)
			}
			out.roles = append(out.roles, role)
		case "RoleBinding", "ClusterRoleBinding":
			var binding rbacv1.ClusterRoleBinding
			if err := kyaml.Unmarshal(data, &binding); err != nil {
				t.Fatal(err)
			}
			out.bindings = append(out.bindings, binding)
		}
	}
	if len(out.bindings) == 0 {
		t.Fatalf("%s gives nobody anything", dir)
	}
	return out
}

// Overlays that add a component.
const (
	withCABundles = "../test/rbac/testdata/ca-bundles"
	withWorkloads = "../test/rbac/testdata/workloads"
)

// installations is how many of the first kustomizations install certrotation.
const installations = 8

// kustomizations are all kustomizations that users apply, installations first.
var kustomizations = []string{
	"base", "overlays/default", "overlays/ha", "overlays/openshift", "overlays/kubeadm", "overlays/namespaced", withCABundles, withWorkloads,
	"samples/etcd-nodes", "samples/kubeadm-etcd", "samples/openshift-etcd", "samples/mtls-service", "samples/pods", "samples/webhook-server", "samples/hosted-etcd",
}

// given is a rule with its role and the namespace of the binding, "" for the whole cluster.
type given struct {
	role, namespace string
	rule            *rbacv1.PolicyRule
}

// to returns the rules that a ServiceAccount of certrotation gets by bindings and roles of the same kustomization.
func (r *rendered) to(account string) []given {
	var out []given
	for i := range r.bindings {
		b := &r.bindings[i]
		if !slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Kind == "ServiceAccount" && s.Name == account }) {
			continue
		}
		for k := range r.roles {
			role := &r.roles[k]
			if role.Name != b.RoleRef.Name || role.Kind != b.RoleRef.Kind || (role.Kind == "Role" && role.Namespace != b.Namespace) {
				continue
			}
			for j := range role.Rules {
				out = append(out, given{role: role.Name, namespace: b.Namespace, rule: &role.Rules[j]})
			}
		}
	}
	return out
}

func allows(r *rbacv1.PolicyRule, group, resource string, verbs ...string) bool {
	return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) &&
		slices.ContainsFunc(verbs, func(verb string) bool { return slices.Contains(r.Verbs, verb) })
}

var writing = []string{"create", "update", "patch", "delete", "deletecollection"}

// TestNoWildcard: a wildcard in a role would grant rights that no review has seen.
func TestNoWildcard(t *testing.T) {
	for _, dir := range kustomizations {
		for _, role := range render(t, dir).roles {
			for i := range role.Rules {
				if strings.Contains(text(&role.Rules[i]), "*") {
					t.Errorf("%s: %s may %s", dir, role.Name, text(&role.Rules[i]))
				}
				if len(role.Rules[i].Verbs) == 0 || slices.ContainsFunc(role.Rules[i].Verbs, func(verb string) bool {
					return slices.Contains([]string{"escalate", "bind", "impersonate", "deletecollection"}, verb)
				}) {
					t.Errorf("%s: %s may %s", dir, role.Name, text(&role.Rules[i]))
				}
			}
		}
	}
}

// TestServeWritesNoSecret: serve reads Secrets and ConfigMaps, and writes only records and its leases.
func TestServeWritesNoSecret(t *testing.T) {
	for _, dir := range kustomizations[:installations] {
		rules := render(t, dir).to("certrotation-serve")
		reads := false
		for _, g := range rules {
			reads = reads || allows(g.rule, "", "secrets", "get")
			for _, verb := range g.rule.Verbs {
				mayWrite := slices.Equal(g.rule.Resources, []string{"rotationrecords"}) ||
					(slices.Equal(g.rule.Resources, []string{"leases"}) && g.namespace == "certrotation-system" && verb != "delete")
				if slices.Contains(writing, verb) && !mayWrite {
					t.Errorf("%s: serve may %s", dir, text(g.rule))
				}
			}
		}
		if !reads {
			t.Errorf("%s: serve reads no Secret: %d rules were looked at", dir, len(rules))
		}
	}
}

// TestNoPodsInTheCluster: rights to create pods are bound in single namespaces, by a role that grants nothing else.
func TestNoPodsInTheCluster(t *testing.T) {
	for _, dir := range kustomizations {
		r := render(t, dir)
		for _, account := range []string{"certrotation-serve", "certrotation-controller"} {
			for _, g := range r.to(account) {
				if allows(g.rule, "", "pods", writing...) || allows(g.rule, "", "serviceaccounts", writing...) {
					t.Errorf("%s: %s may %s in %q", dir, account, text(g.rule), g.namespace)
				}
			}
		}
		for i := range r.bindings {
			b := &r.bindings[i]
			if strings.HasPrefix(b.RoleRef.Name, "certrotation-rollout-") && b.Namespace == "" {
				t.Errorf("%s: %s is bound in the whole cluster", dir, b.RoleRef.Name)
			}
		}
		for _, role := range r.roles {
			pods, deletes := false, false
			for i := range role.Rules {
				pods = pods || allows(&role.Rules[i], "", "pods", "create")
				deletes = deletes || allows(&role.Rules[i], "", "secrets", "delete")
			}
			if pods && deletes {
				t.Errorf("%s: %s creates pods and deletes Secrets", dir, role.Name)
			}
			if (pods && role.Name != "certrotation-rollout-pods") || (deletes && role.Name != "certrotation-rollout-cleanup") {
				t.Errorf("%s: %s creates pods (%t) or deletes Secrets (%t)", dir, role.Name, pods, deletes)
			}
		}
	}
}

// TestPatchesAreNamed: objects that certrotation does not own may be patched only by name.
func TestPatchesAreNamed(t *testing.T) {
	// Owned or new objects.
	unnamed := []string{"rotationconfigurations/status", "events"}
	for _, dir := range kustomizations {
		r := render(t, dir)
		for _, account := range []string{"certrotation-serve", "certrotation-controller"} {
			for _, g := range r.to(account) {
				if slices.Contains(g.rule.Verbs, "patch") && len(g.rule.ResourceNames) == 0 && !slices.Contains(unnamed, g.rule.Resources[0]) {
					t.Errorf("%s: %s may %s", dir, account, text(g.rule))
				}
			}
		}
	}
}

// TestCABundlesAreAskedFor: only the role certrotation-ca-bundles may change CA bundles of webhooks, conversions and
// APIServices, and ClusterTrustBundles. Installations get it only with the component. Without it certrotation may
// change only its own APIService.
func TestCABundlesAreAskedFor(t *testing.T) {
	called := map[string]string{
		"validatingwebhookconfigurations": "admissionregistration.k8s.io", "mutatingwebhookconfigurations": "admissionregistration.k8s.io",
		"apiservices": "apiregistration.k8s.io", "customresourcedefinitions": "apiextensions.k8s.io",
		"clustertrustbundles": "certificates.k8s.io",
	}
	for _, dir := range kustomizations {
		r := render(t, dir)
		seen := map[string]bool{}
		for _, account := range []string{"certrotation-serve", "certrotation-controller"} {
			for _, g := range r.to(account) {
				if slices.Contains(g.rule.Verbs, "attest") && (g.role != "certrotation-ca-bundles" || !slices.Equal(g.rule.ResourceNames, []string{"certrotation.dev/ca-bundles"})) {
					t.Errorf("%s: %s may %s by %s", dir, account, text(g.rule), g.role)
				}
				for resource, group := range called {
					if !allows(g.rule, group, resource, append([]string{"get", "list", "watch"}, writing...)...) {
						continue
					}
					seen[resource] = true
					if own := slices.Equal(g.rule.ResourceNames, []string{"v1alpha1.certrotation.dev"}) && resource == "apiservices"; !own &&
						(g.role != "certrotation-ca-bundles" || allows(g.rule, group, resource, "create", "delete")) {
						t.Errorf("%s: %s may %s by %s", dir, account, text(g.rule), g.role)
					}
				}
			}
		}
		want := 0
		switch {
		case dir == withCABundles:
			want = len(called)
		case slices.Contains(kustomizations[:installations], dir):
			want = 1
		}
		if len(seen) != want {
			t.Errorf("%s: rights on %v, want %d of them", dir, seen, want)
		}
	}
}

// TestWorkloadsAreOfTheirNamespaces: only one role may patch pod templates of workloads. certrotation's own
// kustomizations never bind it; a namespace does, such as the one of the sample hosted-etcd.
func TestWorkloadsAreOfTheirNamespaces(t *testing.T) {
	const restarts = "certrotation-rollout-workloads"
	for _, dir := range kustomizations {
		r := render(t, dir)
		found := false
		for _, role := range r.roles {
			for i := range role.Rules {
				rule := &role.Rules[i]
				if !slices.Contains(rule.APIGroups, "apps") {
					continue
				}
				found = true
				if role.Name != restarts || len(role.Rules) != 3 || !slices.Equal(rule.Verbs, []string{"get", "patch"}) {
					t.Errorf("%s: %s may %s", dir, role.Name, text(rule))
				}
			}
		}
		for i := range r.bindings {
			if r.bindings[i].RoleRef.Name == restarts && (dir != "samples/hosted-etcd" || r.bindings[i].Namespace != "hosted-demo") {
				t.Errorf("%s gives %s in %q", dir, restarts, r.bindings[i].Namespace)
			}
		}
		if want := dir == withWorkloads; found != want {
			t.Errorf("%s: rights on workloads: %t, want %t", dir, found, want)
		}
	}
}

// TestNamespacedMode: rights on Secrets, ConfigMaps and other namespaced objects are granted by namespace.
func TestNamespacedMode(t *testing.T) {
	r := render(t, "overlays/namespaced")
	inCluster := []string{"nodes", "staticpodclasses", "apiservices"}
	namespaces := map[string]bool{}
	for _, account := range []string{"certrotation-serve", "certrotation-controller"} {
		for _, g := range r.to(account) {
			for _, resource := range g.rule.Resources {
				if g.namespace == "" && !slices.Contains(inCluster, resource) {
					t.Errorf("%s may %s in the whole cluster", account, text(g.rule))
				}
				if resource == "secrets" {
					namespaces[account+" "+g.namespace] = true
				}
			}
		}
	}
	for _, want := range []string{"certrotation-serve mtls-demo", "certrotation-controller mtls-demo", "certrotation-serve certrotation-system"} {
		if !namespaces[want] {
			t.Errorf("no Secrets for %s", want)
		}
	}
	if len(namespaces) != 4 {
		t.Errorf("Secrets are given to %v", namespaces)
	}
}

// TestEditConfiguresNoPKI: view and edit must not change a PKI. No role may write classes, and no user's role may
// write records.
func TestEditConfiguresNoPKI(t *testing.T) {
	r := render(t, "base")
	const aggregate = "rbac.authorization.k8s.io/aggregate-to-"
	seen := 0
	for _, role := range r.roles {
		isUsers := len(role.Labels) > 0
		for i := range role.Rules {
			rule := &role.Rules[i]
			writes := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return slices.Contains(writing, verb) })
			if !writes {
				continue
			}
			if role.Labels[aggregate+"view"] != "" || role.Labels[aggregate+"edit"] != "" {
				t.Errorf("%s, which edit has, may %s", role.Name, text(rule))
			}
			if slices.Contains(rule.Resources, "staticpodclasses") || (isUsers && slices.Contains(rule.Resources, "rotationrecords")) {
				t.Errorf("%s may %s", role.Name, text(rule))
			}
			if slices.Contains(rule.Resources, "certificaterotations/waive") && (isUsers || len(role.Rules) > 1) {
				t.Errorf("%s has the right to waive with others", role.Name)
			}
			if slices.Contains(rule.Resources, "certificaterotations/install") && (isUsers || len(role.Rules) > 1) {
				t.Errorf("%s has the right to install a CA with others", role.Name)
			}
			if slices.Contains(rule.Resources, "rotationconfigurations") {
				seen++
			}
		}
	}
	if seen != 1 {
		t.Errorf("%d roles configure, want 1", seen)
	}
}
