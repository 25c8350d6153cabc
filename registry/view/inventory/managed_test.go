// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

func unmanagedNamespace(name string) *corev1.Namespace {
	ns := managedNamespace(name)
	ns.Labels = nil
	return ns
}

// actions returns the actions of all clients since the last call.
func (c *cluster) actions() []clienttesting.Action {
	all := c.api.Actions()
	c.api.ForgetActions()
	return all
}

// requests counts the actions by namespace. "" stands for the cluster scope.
func requests(actions []clienttesting.Action) map[string]int {
	out := map[string]int{}
	for _, action := range actions {
		out[action.GetNamespace()]++
	}
	return out
}

// label updates a namespace, whose labels hold its consent.
func (c *cluster) label(t *testing.T, namespace *corev1.Namespace) {
	t.Helper()
	c.put(t, namespace)
	synctest.Wait()
}

// TestUnmanagedNamespaceCausesNoRequest: without the namespace's consent, no configuration and no caller causes a
// request for it.
func TestUnmanagedNamespaceCausesNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := authority(t, "ca")
		c := newCluster(t, unmanagedNamespace(testNamespace), managedNamespace("elsewhere"),
			configuration("config", webConfig), pairSecret(t, "web-signer", ca), bundle("web-bundle", ca.Certificate),
			configMap("certrotation-config", map[string]string{"config.yaml": webConfig}))
		c.run(t)
		if s, err := c.Live(t.Context(), testNamespace); s != nil || !errors.Is(err, inventory.ErrUnmanaged) {
			t.Errorf("Live() = %v, %v; want ErrUnmanaged", s, err)
		}
		if err := c.Await(t.Context(), testNamespace); err != nil {
			t.Errorf("Await() = %v, want nil: nothing is to come", err)
		}
		if c.Managed(testNamespace) || !c.Managed("elsewhere") || c.Sources(testNamespace) != nil || c.Namespace(testNamespace) != nil || len(c.Namespaces()) != 0 {
			t.Errorf("something is said of a namespace that has not opted in: %v", c.Sources(testNamespace))
		}
		c.put(t, pairSecret(t, "web-signer", ca))
		synctest.Wait()
		got := c.actions()
		if n := requests(got)[testNamespace]; n != 0 || len(c.taken()) != 0 {
			t.Errorf("%d requests to the namespace, want none: %v", n, got)
		}
		for _, action := range got {
			if action.GetNamespace() == "" && !slices.Contains([]string{"namespaces", "nodes", "staticpodclasses"}, action.GetResource().Resource) {
				t.Errorf("%s of %s in all namespaces", action.GetVerb(), action.GetResource().Resource)
			}
		}
	})
}

// TestOnlyManagedNamespacesCost counts the requests, list and watch, of each source. A managed namespace has five
// sources, and ConfigMaps if it has a configuration. The cluster has Nodes, StaticPodClasses and Namespaces.
func TestOnlyManagedNamespacesCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := []runtime.Object{managedNamespace(testNamespace), managedNamespace("elsewhere"), configuration("config", webConfig)}
		for i := range 4998 {
			name := fmt.Sprintf("tenant-%d", i)
			objects = append(objects, unmanagedNamespace(name))
			if i%100 == 0 {
				cfg := configuration("config", webConfig)
				cfg.Namespace, cfg.UID = name, types.UID("uid-"+name)
				objects = append(objects, cfg)
			}
		}
		c := newCluster(t, objects...)
		c.run(t)
		want := map[string]int{"": 6, testNamespace: 12, "elsewhere": 10}
		if diff := cmp.Diff(want, requests(c.actions())); diff != "" {
			t.Errorf("requests by namespace (-want +got):\n%s", diff)
		}
		if got := c.Namespaces(); len(got) != 1 || got[0] != testNamespace {
			t.Errorf("known are %v", got)
		}
	})
}

func TestConsentComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := authority(t, "ca")
		c := newCluster(t, unmanagedNamespace(testNamespace), configuration("config", webConfig),
			pairSecret(t, "web-signer", ca), bundle("web-bundle", ca.Certificate))
		c.run(t)
		c.label(t, managedNamespace(testNamespace))
		if err := c.Await(t.Context(), testNamespace); err != nil {
			t.Fatal(err)
		}
		n := c.Namespace(testNamespace)
		if got := c.taken(); len(got) != 1 || n == nil || len(n.Domain("web").Bundle.Anchors) != 1 || !n.Domain("web").Signer.Present {
			t.Fatalf("the namespace is not known after its consent: announced %q, %+v", got, n)
		}

		for name, change := range map[string]func(){
			"the label goes": func() { c.label(t, unmanagedNamespace(testNamespace)) },
			"its value is another": func() {
				ns := unmanagedNamespace(testNamespace)
				ns.Labels = map[string]string{trust.LabelManaged: "false"}
				c.label(t, ns)
			},
			"the namespace is deleted": func() {
				c.drop(t, managedNamespace(testNamespace))
				synctest.Wait()
			},
		} {
			change()
			if got := c.taken(); len(got) != 1 || got[0] != testNamespace {
				t.Errorf("%s: announced %q", name, got)
			}
			if c.Managed(testNamespace) || c.Namespace(testNamespace) != nil || c.Sources(testNamespace) != nil || len(c.Namespaces()) != 0 {
				t.Errorf("%s: something is still said of it", name)
			}
			if _, err := c.Live(t.Context(), testNamespace); !errors.Is(err, inventory.ErrUnmanaged) {
				t.Errorf("%s: Live() = %v", name, err)
			}
			c.actions()
			c.put(t, pairSecret(t, "web-signer", ca))
			synctest.Wait()
			if got := c.actions(); len(c.taken()) != 0 || len(got) != 0 {
				t.Errorf("%s: what changes there is still seen: %v", name, got)
			}

			c.label(t, managedNamespace(testNamespace))
			if err := c.Await(t.Context(), testNamespace); err != nil || c.Namespace(testNamespace) == nil {
				t.Errorf("%s: the namespace does not come back: %v", name, err)
			}
			c.taken()
		}
	})
}

// TestConsentGoesWhileItIsRead: if the label is removed before everything is listed, the waiting callers return.
func TestConsentGoesWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, configuration("config", webConfig))
		c.withholdConfigMaps()
		c.start(t)
		if c.HasSynced() {
			t.Fatal("the namespace is not waited for")
		}
		ended := make(chan error, 2)
		go func() { ended <- c.Await(t.Context(), testNamespace) }()
		go func() { ended <- c.WaitForSync(t.Context()) }()
		synctest.Wait()
		c.label(t, unmanagedNamespace(testNamespace))
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("waiting has ended with %v, want nil", err)
			}
		}
		if !c.HasSynced() {
			t.Error("a namespace that has withdrawn its consent is waited for")
		}
	})
}
