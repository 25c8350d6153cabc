// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-base/metrics"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// forbid makes every matching read fail with Forbidden until the returned function is called.
func (c *cluster) forbid(matches func(*apifake.Request) bool) (grant func()) {
	return c.befalls(apifake.Forbidden, matches)
}

// befalls makes every matching read fail with the fault until the returned function is called.
func (c *cluster) befalls(fault apifake.Fault, matches func(*apifake.Request) bool) (end func()) {
	over := false
	c.api.ReadFault = func(r *apifake.Request) apifake.Fault {
		c.mu.Lock()
		defer c.mu.Unlock()
		if over || !matches(r) {
			return apifake.NoFault
		}
		return fault
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		over = true
	}
}

// named returns the options of an installation that lists its namespaces.
func named(registry metrics.KubeRegistry, namespaces ...string) inventory.Options {
	return inventory.Options{Namespaces: namespaces, Register: registry.Register}
}

// refused returns the sources that the metric reports as refused, by namespace.
func refused(t *testing.T, registry metrics.KubeRegistry) map[string][]string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if metric.GetGauge().GetValue() == 0 {
				continue
			}
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			out[labels["namespace"]] = append(out[labels["namespace"]], labels["source"])
		}
	}
	return out
}

// TestNamedNamespaces reads the listed namespaces, whatever their labels, and never requests Namespaces.
func TestNamedNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := configuration("config", webConfig)
		other.Namespace = "elsewhere"
		c := newClusterWith(t, named(metrics.NewKubeRegistry(), testNamespace), unmanagedNamespace(testNamespace), managedNamespace("elsewhere"),
			configuration("config", webConfig), other)
		c.run(t)
		if c.Namespace(testNamespace) == nil || c.Managed("elsewhere") || c.Namespace("elsewhere") != nil {
			t.Errorf("known are %v", c.Namespaces())
		}
		if diff := cmp.Diff(map[string]int{"": 4, testNamespace: 12}, requests(c.actions())); diff != "" {
			t.Errorf("requests by namespace (-want +got):\n%s", diff)
		}
	})
}

// TestNamespaceWithoutRights: one of two namespaces has no role binding yet. The other one is served, the metric
// names the first, and that is served once it is bound.
func TestNamespaceWithoutRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other, registry := configuration("config", webConfig), metrics.NewKubeRegistry()
		other.Namespace = "elsewhere"
		c := newClusterWith(t, named(registry, testNamespace, "elsewhere"), configuration("config", webConfig), other)
		grant := c.forbid(func(r *apifake.Request) bool { return r.Namespace == "elsewhere" })
		c.run(t)
		if !c.HasSynced() || c.Namespace(testNamespace) == nil {
			t.Error("a namespace without rights holds up the others")
		}
		if err := c.Await(t.Context(), "elsewhere"); !apierrors.IsForbidden(err) {
			t.Errorf("Await() = %v, want the answer of the API server", err)
		}
		if !c.Managed("elsewhere") || c.Namespace("elsewhere") != nil || c.Sources("elsewhere") != nil {
			t.Error("something is said of a namespace that cannot be read")
		}
		if got := refused(t, registry); len(got) != 1 || len(got["elsewhere"]) != 5 {
			t.Errorf("refused are %v", got)
		}
		grant()
		time.Sleep(retried) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if err := c.Await(t.Context(), "elsewhere"); err != nil || c.Namespace("elsewhere") == nil {
			t.Errorf("Await() = %v after the rights were granted", err)
		}
		if got := c.taken(); len(got) != 1 || got[0] != "elsewhere" {
			t.Errorf("announced %q", got)
		}
		if got := refused(t, registry); len(got) != 0 {
			t.Errorf("still refused: %v", got)
		}
	})
}

// TestRefusedClusterIsWaitedFor: a cluster without read permissions must not count as empty.
func TestRefusedClusterIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, configuration("config", webConfig))
		grant := c.forbid(func(*apifake.Request) bool { return true })
		c.start(t)
		time.Sleep(retried) //nolint:forbidigo // the clock of the bubble
		if c.HasSynced() {
			t.Error("a cluster that cannot be read counts as seen")
		}
		grant()
		if err := c.WaitForSync(t.Context()); err != nil || c.Namespace(testNamespace) == nil {
			t.Errorf("WaitForSync() = %v", err)
		}
	})
}

// TestDefinitionsAreMissing: the Inventory waits for missing CRDs, and the error says how to install them.
func TestDefinitionsAreMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, configuration("config", webConfig))
		install := c.befalls(apifake.NotServed, func(r *apifake.Request) bool { return r.Resource.Group == configv1alpha1.GroupName })
		c.start(t)
		time.Sleep(retried) //nolint:forbidigo // the clock of the bubble
		if c.HasSynced() {
			t.Error("a cluster without the definitions counts as seen")
		}
		if err := c.Await(t.Context(), testNamespace); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "kubectl apply -k manifests/crds") {
			t.Errorf("Await() = %v", err)
		}
		install()
		if err := c.WaitForSync(t.Context()); err != nil || c.Namespace(testNamespace) == nil {
			t.Errorf("WaitForSync() = %v", err)
		}
	})
}

// noNodes is a configuration without nodes.
const noNodes = `
trustDomains:
- name: plain
  signer: {secretName: plain-signer}
  bundle: {configMapName: plain-bundle}
  leaves:
  - {secretName: plain-client, commonName: plain, usages: [ClientAuth]}
  relyingParties:
  - {name: servers, evidence: {kind: acknowledgement}}
  - {name: clients, presents: [plain-client], verifies: {nothing: true}, evidence: {kind: acknowledgement}}
`

func TestNodesWithoutRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClusterWith(t, named(metrics.NewKubeRegistry(), testNamespace), configuration("config", webConfig),
			configuration("plain", noNodes), node("n1", "10.0.0.1"))
		grant := c.forbid(func(r *apifake.Request) bool { return r.Resource.Resource == "nodes" })
		c.run(t)
		live, err := c.Live(t.Context(), testNamespace)
		if err != nil {
			t.Fatal(err)
		}
		for from, n := range map[string]*inventory.Namespace{"cached": c.Namespace(testNamespace), "live": inventory.Build(live)} {
			if n.Domain("plain") == nil || n.Domain("web") != nil {
				t.Errorf("%s: domains are %v", from, n.Domains)
			}
			if got := describe(&n.Problems[0]); len(n.Problems) != 1 || !strings.HasPrefix(got, "RotationConfiguration/config NodesUnknown: ") {
				t.Errorf("%s: problems are %s", from, got)
			}
		}
		grant()
		time.Sleep(retried) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if n := c.Namespace(testNamespace); len(c.taken()) != 1 || n.Domain("web") == nil || len(n.Domain("web").Leaves) != 2 {
			t.Errorf("the nodes are not known after the right was granted: %+v", n)
		}
	})
}

// TestClassesWithoutDefinition: an installation that lists its namespaces works without the CRD of static pod
// classes, also in live reads.
func TestClassesWithoutDefinition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClusterWith(t, named(metrics.NewKubeRegistry(), testNamespace), configuration("plain", noNodes))
		c.befalls(apifake.NotServed, func(r *apifake.Request) bool { return r.Resource.Resource == "staticpodclasses" })
		c.run(t)
		live, err := c.Live(t.Context(), testNamespace)
		if err != nil {
			t.Fatal(err)
		}
		for from, n := range map[string]*inventory.Namespace{"cached": c.Namespace(testNamespace), "live": inventory.Build(live)} {
			if n == nil || n.Domain("plain") == nil {
				t.Errorf("%s: the domain is not known: %+v", from, n)
			}
		}
	})
}

// TestSelectorsAreRefusedEach: the end of one refused selector does not clear the refusal of another.
func TestSelectorsAreRefusedEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewKubeRegistry()
		servers := strings.NewReplacer("web", "api", "app: client", "app: server").Replace(podsConfig)
		c := newClusterWith(t, named(registry, testNamespace), configuration("config", podsConfig), configuration("servers", servers))
		c.forbid(func(r *apifake.Request) bool { return r.Resource.Resource == "pods" })
		c.start(t)
		synctest.Wait()
		if got := refused(t, registry)[testNamespace]; len(got) != 1 || got[0] != "Pods" {
			t.Fatalf("refused are %v", got)
		}
		c.drop(t, configuration("servers", servers))
		synctest.Wait()
		if got := refused(t, registry)[testNamespace]; len(got) != 1 || got[0] != "Pods" {
			t.Errorf("after the one selector is gone, refused are %v", got)
		}
		c.drop(t, configuration("config", podsConfig))
		synctest.Wait()
		if got := refused(t, registry)[testNamespace]; len(got) != 0 {
			t.Errorf("after both are gone, refused are %v", got)
		}
	})
}
