// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// cluster is an API server with an Inventory on top.
type cluster struct {
	*inventory.Inventory
	api *apifake.Server

	mu      sync.Mutex
	changes []string
}

// newCluster uses the namespaces among the objects. Without any, it makes two managed ones.
func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	t.Helper()
	return newClusterWith(t, inventory.Options{}, objects...)
}

func newClusterWith(t *testing.T, opts inventory.Options, objects ...runtime.Object) *cluster {
	t.Helper()
	if !slices.ContainsFunc(objects, func(object runtime.Object) bool { _, ok := object.(*corev1.Namespace); return ok }) {
		objects = append(objects, managedNamespace(testNamespace), managedNamespace("elsewhere"))
	}
	c := &cluster{api: apifake.New(t, clock.RealClock{}, objects...)}
	var err error
	c.Inventory, err = inventory.New(inventory.Clients{Core: c.api.Client, Metadata: c.api.Metadata, Config: c.api.Own}, opts)
	if err != nil {
		t.Fatal(err)
	}
	c.OnChange(func(namespace string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changes = append(c.changes, namespace)
	})
	return c
}

// run starts the Inventory for the duration of the test.
func (c *cluster) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		c.Wait()
	})
	c.Start(ctx)
	if err := c.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	c.taken()
}

// put stores an object as another client does.
func (c *cluster) put(t *testing.T, o runtime.Object) {
	t.Helper()
	if err := c.api.Put(o); err != nil {
		t.Fatal(err)
	}
}

// drop deletes an object as another client does.
func (c *cluster) drop(t *testing.T, o runtime.Object) {
	t.Helper()
	if err := c.api.Drop(o); err != nil {
		t.Fatal(err)
	}
}

// taken returns the namespaces that were announced since the last call, each once.
func (c *cluster) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	changes := c.changes
	c.changes = nil
	slices.Sort(changes)
	return slices.Compact(changes)
}

func TestInventory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := authority(t, "ca")
		elsewhere, secretElsewhere := configMap("web-bundle", nil), opaqueSecret("other", nil)
		elsewhere.Namespace, secretElsewhere.Namespace = "elsewhere", "elsewhere"
		c := newCluster(t, configuration("config", webConfig), pairSecret(t, "web-signer", ca), opaqueSecret("other", nil),
			node("n1", "10.0.0.1"), bundle("web-bundle", ca.Certificate), elsewhere, secretElsewhere,
			evidenceOf("web", "clients", "a", report("pod-1")))
		if c.HasSynced() {
			t.Error("HasSynced() before Start()")
		}
		c.run(t)
		if !c.HasSynced() {
			t.Error("HasSynced() = false after WaitForSync()")
		}
		if diff := cmp.Diff([]string{testNamespace}, c.Namespaces()); diff != "" {
			t.Errorf("Namespaces() (-want +got):\n%s", diff)
		}
		s := c.Sources(testNamespace)
		if len(s.Secrets) != 1 || len(s.Others) != 1 || s.Others["other"] == nil || len(s.Nodes) != 1 ||
			len(s.Configurations) != 1 || len(s.Records) != 1 || s.ConfigMaps["web-bundle"] == nil {
			t.Errorf("Sources() = %+v", s)
		}
		n := c.Namespace(testNamespace)
		if d := n.Domain("web"); d == nil || !d.Signer.Active.Equal(ca.Certificate) {
			t.Errorf("Namespace() = %+v", n)
		}
		if c.Namespace(testNamespace) != n || c.Sources(testNamespace) != s {
			t.Error("the answer is not kept although nothing has changed")
		}
		if c.Namespace("elsewhere") != nil || c.Sources("elsewhere") == nil || c.Sources("nowhere") != nil {
			t.Error("namespaces without a configuration")
		}
		if maps := c.Sources("elsewhere").ConfigMaps; len(maps) != 0 {
			t.Errorf("ConfigMaps of a namespace without a configuration are known: %v", maps)
		}
		live, err := c.Live(t.Context(), testNamespace)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(n.Domains, inventory.Build(live).Domains, byFingerprint); diff != "" {
			t.Errorf("the live state differs (-cached +live):\n%s", diff)
		}
	})
}

func TestInventoryFollowsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := authority(t, "ca")
		c := newCluster(t, configuration("config", webConfig), node("n1", "10.0.0.1"))
		c.run(t)
		elsewhere, configuredElsewhere := configMap("x", nil), configuration("config", webConfig)
		elsewhere.Namespace, configuredElsewhere.Namespace = "elsewhere", "elsewhere"
		heartbeat := node("n1", "10.0.0.1")
		heartbeat.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady}}
		moved := node("n1", "10.0.0.9")
		steps := []struct {
			name string
			do   func() error
			want []string
			is   func(n *inventory.Namespace) bool
		}{
			{
				name: "a Secret comes", want: []string{testNamespace},
				do: func() error { return c.api.Put(pairSecret(t, "web-signer", ca)) },
				is: func(n *inventory.Namespace) bool { return n.Domain("web").Signer.Active.Equal(ca.Certificate) },
			},
			{
				name: "a Secret goes", want: []string{testNamespace},
				do: func() error { return c.api.Drop(pairSecret(t, "web-signer", ca)) },
				is: func(n *inventory.Namespace) bool { return !n.Domain("web").Signer.Present },
			},
			{
				name: "a bundle comes", want: []string{testNamespace},
				do: func() error { return c.api.Put(bundle("web-bundle", ca.Certificate)) },
				is: func(n *inventory.Namespace) bool { return len(n.Domain("web").Bundle.Anchors) == 1 },
			},
			{
				name: "a record comes", want: []string{testNamespace},
				do: func() error { return c.api.Put(evidenceOf("web", "clients", "a", report("pod-1"))) },
				is: func(n *inventory.Namespace) bool { return len(n.Domain("web").Parties[1].Members[0].Observations) == 1 },
			},
			{
				name: "a record goes", want: []string{testNamespace},
				do: func() error { return c.api.Drop(evidenceOf("web", "clients", "a", report("pod-1"))) },
				is: func(n *inventory.Namespace) bool { return len(n.Domain("web").Parties[1].Members[0].Observations) == 0 },
			},
			{
				name: "a node's heartbeat",
				do:   func() error { return c.api.Put(heartbeat) },
				is: func(n *inventory.Namespace) bool {
					return n.Domain("web").Leaves[1].Policy.Profile.CommonName == "10.0.0.1"
				},
			},
			{
				name: "a node moves", want: []string{testNamespace},
				do: func() error { return c.api.Put(moved) },
				is: func(n *inventory.Namespace) bool {
					return n.Domain("web").Leaves[1].Policy.Profile.CommonName == "10.0.0.9"
				},
			},
			{
				name: "something in a namespace without a configuration",
				do:   func() error { return c.api.Put(elsewhere) },
				is:   func(n *inventory.Namespace) bool { return n != nil },
			},
			{
				name: "a second namespace gets a configuration", want: []string{"elsewhere"},
				do: func() error { return c.api.Put(configuredElsewhere) },
				is: func(*inventory.Namespace) bool {
					return len(c.Namespaces()) == 2 && c.Namespace("elsewhere") != nil && c.Sources("elsewhere").ConfigMaps["x"] != nil
				},
			},
			{
				name: "a node comes", want: []string{testNamespace, "elsewhere"},
				do: func() error { return c.api.Put(node("n2", "10.0.0.2")) },
				is: func(n *inventory.Namespace) bool {
					return len(n.Domain("web").Leaves) == 3 && len(c.Namespace("elsewhere").Domain("web").Leaves) == 3
				},
			},
			{
				name: "the configuration goes", want: []string{testNamespace},
				do: func() error { return c.api.Drop(configuration("config", webConfig)) },
				is: func(n *inventory.Namespace) bool { return n == nil && len(c.Namespaces()) == 1 },
			},
		}
		for _, step := range steps {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			synctest.Wait()
			if got := c.taken(); !slices.Equal(got, step.want) {
				t.Errorf("%s: announced %q, want %q", step.name, got, step.want)
			}
			if !step.is(c.Namespace(testNamespace)) {
				t.Errorf("%s: Namespace() is not up to date", step.name)
			}
		}
	})
}

// TestInventoryWhileReading reads from many goroutines while objects change. It is for the race detector.
func TestInventoryWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, configuration("config", webConfig), node("n1", "10.0.0.1"))
		c.run(t)
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for range 50 {
					if c.Namespace(testNamespace).Domain("web") == nil {
						t.Error("the domain is gone")
					}
				}
			})
		}
		ca := authority(t, "ca")
		for range 20 {
			c.put(t, pairSecret(t, "web-signer", ca))
		}
		readers.Wait()
		synctest.Wait()
		if got := c.Namespace(testNamespace).Domain("web").Signer.ResourceVersion; got != strconv.Itoa(c.api.Version()) {
			t.Errorf("the signer is at version %q, want that of the last write %d", got, c.api.Version())
		}
	})
}

func TestLiveFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, configuration("config", webConfig))
		c.run(t)
		c.forbid(func(r *apifake.Request) bool { return r.Resource.Resource == "configmaps" })
		if s, err := c.Live(t.Context(), testNamespace); s != nil || !apierrors.IsForbidden(err) {
			t.Errorf("Live() = %v, %v; want the error of the server", s, err)
		}
	})
}

func TestLiveStaysWithinItsNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.run(t)
		c.api.ForgetActions()
		if _, err := c.Live(t.Context(), testNamespace); err != nil {
			t.Fatal(err)
		}
		expectPagesOf(t, c.api.Actions())
	})
}

// expectPagesOf requires that lists of the test's namespace use pages, and lists of Secrets use selectors.
func expectPagesOf(t *testing.T, actions []clienttesting.Action) {
	t.Helper()
	want := map[string]string{"type=kubernetes.io/tls/": testNamespace, "/certrotation.dev/aggregate": testNamespace}
	for _, action := range actions {
		list, ok := action.(clienttesting.ListActionImpl)
		if ok && list.ListOptions.FieldSelector == "type!=kubernetes.io/tls" && list.Namespace == testNamespace {
			continue // the metadata of all other Secrets is small
		}
		if !ok || list.ListOptions.Limit == 0 {
			t.Errorf("%v is no list by pages", action)
		}
		if list.Resource.Resource != "secrets" {
			continue
		}
		selectors := list.ListOptions.FieldSelector + "/" + list.ListOptions.LabelSelector
		if namespace, ok := want[selectors]; !ok || list.Namespace != namespace {
			t.Errorf("Secrets of namespace %q are listed by %q", list.Namespace, selectors)
		}
		delete(want, selectors)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

func TestWaitForSyncEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newCluster(t).WaitForSync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitForSync() = %v, want context.Canceled", err)
	}
}
