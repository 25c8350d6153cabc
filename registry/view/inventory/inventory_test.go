// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	ownfake "certrotation.dev/generated/clientset/versioned/fake"
	"certrotation.dev/registry/view/inventory"
)

// cluster is a pair of fake clients with an Inventory over them. The fakes ignore field selectors, so that the
// Inventory sees more than it has asked for.
type cluster struct {
	*inventory.Inventory
	client *fake.Clientset
	own    *ownfake.Clientset
	meta   *metadatafake.FakeMetadataClient

	mu      sync.Mutex
	changes []string
}

// newCluster has the namespaces that are among the objects, or else two that are managed.
func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	t.Helper()
	return newClusterWith(t, inventory.Options{}, objects...)
}

func newClusterWith(t *testing.T, opts inventory.Options, objects ...runtime.Object) *cluster {
	t.Helper()
	if !slices.ContainsFunc(objects, func(object runtime.Object) bool { _, ok := object.(*corev1.Namespace); return ok }) {
		objects = append(objects, managedNamespace(testNamespace), managedNamespace("elsewhere"))
	}
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var core, own, metas []runtime.Object
	for _, object := range objects {
		switch o := object.(type) {
		case *configv1alpha1.RotationConfiguration, *configv1alpha1.RotationRecord:
			own = append(own, o)
			continue
		case *corev1.Secret:
			metas = append(metas, &metav1.PartialObjectMetadata{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: o.ObjectMeta,
			})
		case *corev1.Namespace:
			metas = append(metas, metadataOf(o))
			continue
		}
		core = append(core, object)
	}
	c := &cluster{
		client: fake.NewClientset(core...), own: ownfake.NewSimpleClientset(own...),
		meta: metadatafake.NewSimpleMetadataClient(scheme, metas...),
	}
	var err error
	c.Inventory, err = inventory.New(inventory.Clients{Core: c.client, Metadata: c.meta, Config: c.own}, opts)
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

// run starts the Inventory for the time of the test.
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
		core, own, ctx := c.client.CoreV1(), c.own.ConfigV1alpha1(), t.Context()
		elsewhere, configuredElsewhere := configMap("x", nil), configuration("config", webConfig)
		elsewhere.Namespace, configuredElsewhere.Namespace = "elsewhere", "elsewhere"
		heartbeat := node("n1", "10.0.0.1")
		heartbeat.ResourceVersion = "8"
		heartbeat.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady}}
		moved := node("n1", "10.0.0.9")
		moved.ResourceVersion = "9"
		steps := []struct {
			name string
			do   func() error
			want []string
			is   func(n *inventory.Namespace) bool
		}{
			{
				name: "a Secret comes", want: []string{testNamespace},
				do: func() error {
					_, err := core.Secrets(testNamespace).Create(ctx, pairSecret(t, "web-signer", ca), metav1.CreateOptions{})
					return err
				},
				is: func(n *inventory.Namespace) bool { return n.Domain("web").Signer.Active.Equal(ca.Certificate) },
			},
			{
				name: "a Secret goes", want: []string{testNamespace},
				do: func() error { return core.Secrets(testNamespace).Delete(ctx, "web-signer", metav1.DeleteOptions{}) },
				is: func(n *inventory.Namespace) bool { return !n.Domain("web").Signer.Present },
			},
			{
				name: "a bundle comes", want: []string{testNamespace},
				do: func() error {
					_, err := core.ConfigMaps(testNamespace).Create(ctx, bundle("web-bundle", ca.Certificate), metav1.CreateOptions{})
					return err
				},
				is: func(n *inventory.Namespace) bool { return len(n.Domain("web").Bundle.Anchors) == 1 },
			},
			{
				name: "a record comes", want: []string{testNamespace},
				do: func() error {
					_, err := own.RotationRecords(testNamespace).Create(ctx, evidenceOf("web", "clients", "a", report("pod-1")), metav1.CreateOptions{})
					return err
				},
				is: func(n *inventory.Namespace) bool { return len(n.Domain("web").Parties[1].Members[0].Observations) == 1 },
			},
			{
				name: "a record goes", want: []string{testNamespace},
				do: func() error {
					return own.RotationRecords(testNamespace).Delete(ctx, "evidence.web.clients.a", metav1.DeleteOptions{})
				},
				is: func(n *inventory.Namespace) bool { return len(n.Domain("web").Parties[1].Members[0].Observations) == 0 },
			},
			{
				name: "a node's heartbeat",
				do: func() error {
					_, err := core.Nodes().Update(ctx, heartbeat, metav1.UpdateOptions{})
					return err
				},
				is: func(n *inventory.Namespace) bool {
					return n.Domain("web").Leaves[1].Policy.Profile.CommonName == "10.0.0.1"
				},
			},
			{
				name: "a node moves", want: []string{testNamespace},
				do: func() error {
					_, err := core.Nodes().Update(ctx, moved, metav1.UpdateOptions{})
					return err
				},
				is: func(n *inventory.Namespace) bool {
					return n.Domain("web").Leaves[1].Policy.Profile.CommonName == "10.0.0.9"
				},
			},
			{
				name: "something in a namespace without a configuration",
				do: func() error {
					_, err := core.ConfigMaps("elsewhere").Create(ctx, elsewhere, metav1.CreateOptions{})
					return err
				},
				is: func(n *inventory.Namespace) bool { return n != nil },
			},
			{
				name: "a second namespace gets a configuration", want: []string{"elsewhere"},
				do: func() error {
					_, err := own.RotationConfigurations("elsewhere").Create(ctx, configuredElsewhere, metav1.CreateOptions{})
					return err
				},
				is: func(*inventory.Namespace) bool {
					return len(c.Namespaces()) == 2 && c.Namespace("elsewhere") != nil && c.Sources("elsewhere").ConfigMaps["x"] != nil
				},
			},
			{
				name: "a node comes", want: []string{testNamespace, "elsewhere"},
				do: func() error {
					_, err := core.Nodes().Create(ctx, node("n2", "10.0.0.2"), metav1.CreateOptions{})
					return err
				},
				is: func(n *inventory.Namespace) bool {
					return len(n.Domain("web").Leaves) == 3 && len(c.Namespace("elsewhere").Domain("web").Leaves) == 3
				},
			},
			{
				name: "the configuration goes", want: []string{testNamespace},
				do: func() error {
					return own.RotationConfigurations(testNamespace).Delete(ctx, "config", metav1.DeleteOptions{})
				},
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

// TestInventoryWhileReading reads from many goroutines while objects change; it is for the race detector.
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
		for i := range 20 {
			secret := pairSecret(t, "web-signer", ca)
			var err error
			if i == 0 {
				_, err = c.client.CoreV1().Secrets(testNamespace).Create(t.Context(), secret, metav1.CreateOptions{})
			} else {
				secret.ResourceVersion = string(rune('a' + i))
				_, err = c.client.CoreV1().Secrets(testNamespace).Update(t.Context(), secret, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		readers.Wait()
		synctest.Wait()
		if got := c.Namespace(testNamespace).Domain("web").Signer.ResourceVersion; got != string(rune('a'+19)) {
			t.Errorf("the signer is at version %q", got)
		}
	})
}

func TestLiveFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, configuration("config", webConfig))
		c.run(t)
		forbidden := apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("no"))
		c.client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, forbidden
		})
		if s, err := c.Live(t.Context(), testNamespace); s != nil || !apierrors.IsForbidden(err) {
			t.Errorf("Live() = %v, %v; want the error of the server", s, err)
		}
	})
}

func TestLiveStaysWithinItsNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.run(t)
		c.client.ClearActions()
		if _, err := c.Live(t.Context(), testNamespace); err != nil {
			t.Fatal(err)
		}
		expectPagesOf(t, c.client.Actions())
	})
}

// expectPagesOf expects lists of the test's namespace by pages, of Secrets by their selectors.
func expectPagesOf(t *testing.T, actions []clienttesting.Action) {
	t.Helper()
	want := map[string]string{"type=kubernetes.io/tls/": testNamespace, "/certrotation.dev/aggregate": testNamespace}
	for _, action := range actions {
		list, ok := action.(clienttesting.ListActionImpl)
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
