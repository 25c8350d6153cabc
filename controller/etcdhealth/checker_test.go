// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

func TestCannotAsk(t *testing.T) {
	ca := newAuthority(t, "ca")
	leaf := leafSecret(t, issue(t, ca, "client", time.Hour, pki.ClientAuth))
	noPair, noBundle := leaf.DeepCopy(), bundleOf()
	delete(noPair.Data, inventory.ActiveKeyKey)
	q := &configv1alpha1.Quorum{Endpoint: "https://{node}:1", ClientLeaf: leafName, BundleConfigMapName: bundleName}
	for _, test := range []struct {
		name    string
		q       *configv1alpha1.Quorum
		objects []runtime.Object
		want    string
	}{
		{"no quorum configured", nil, nil, "no quorum is configured"},
		{"no leaf", q, []runtime.Object{bundleOf(ca)}, `secrets "etcd-client" not found`},
		{"no key", q, []runtime.Object{noPair, bundleOf(ca)}, "is no usable pair: tls.key cannot be read: "},
		{"no bundle", q, []runtime.Object{leaf}, `configmaps "etcd-bundle" not found`},
		{"an empty bundle", q, []runtime.Object{leaf, noBundle}, "has no certificate under ca-bundle.crt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := New(Config{Client: apifake.New(t, clock.RealClock{}, test.objects...).Client})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Check(t.Context(), testNamespace, testConfiguration, test.q, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want ...%s...", err, test.want)
			}
			if strings.Contains(test.want, "not found") && !apierrors.IsNotFound(err) {
				t.Errorf("%v does not wrap its cause", err)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	for _, test := range []struct{ template, address, want string }{
		{"https://{node}:2379", "10.0.0.1", "https://10.0.0.1:2379"},
		{"https://{node}:2379", "fd00::1", "https://[fd00::1]:2379"},
		{"https://etcd:2379", "10.0.0.1", "https://etcd:2379"},
		{"https://{node}:2379", "", ""},
		{"{node}", "10.0.0.1", ""},
	} {
		node := &inventory.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		if test.address != "" {
			node.Addresses = []string{test.address}
		}
		got := ""
		if u := onNodes([]*inventory.Node{node})[0].endpoint(test.template); u != nil {
			got = u.String()
		}
		if got != test.want {
			t.Errorf("%s with %q: got %q, want %q", test.template, test.address, got, test.want)
		}
	}
}

func TestNodeWithoutAddress(t *testing.T) {
	ca := newAuthority(t, "ca")
	c, err := New(Config{Client: apifake.New(t, clock.RealClock{}, leafSecret(t, issue(t, ca, "client", time.Hour, pki.ClientAuth)), bundleOf(ca)).Client})
	if err != nil {
		t.Fatal(err)
	}
	q := &configv1alpha1.Quorum{Endpoint: "https://{node}:1", ClientLeaf: leafName, BundleConfigMapName: bundleName}
	nodes := []*inventory.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}
	o, err := c.Check(t.Context(), testNamespace, testConfiguration, q, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if got := failures(o)["a"]; got != "its node has no InternalIP" {
		t.Errorf("got %q", got)
	}
}

// TestAddressesThatAreNotDialled expects the refused address in the failure.
func TestAddressesThatAreNotDialled(t *testing.T) {
	ca := newAuthority(t, "ca")
	c, err := New(Config{Client: apifake.New(t, clock.RealClock{}, leafSecret(t, issue(t, ca, "client", time.Hour, pki.ClientAuth)), bundleOf(ca)).Client})
	if err != nil {
		t.Fatal(err)
	}
	q := &configv1alpha1.Quorum{Endpoint: "https://{node}:1", ClientLeaf: leafName, BundleConfigMapName: bundleName}
	for address, want := range map[string]string{
		"127.0.0.1":       "its address 127.0.0.1 is not dialled: it is loopback",
		"169.254.169.254": "its address 169.254.169.254 is not dialled: it is link-local",
		"fd00:ec2::254":   "its address fd00:ec2::254 is not dialled: it is a metadata service",
	} {
		nodes := []*inventory.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Addresses: []string{address}}}
		o, err := c.Check(t.Context(), testNamespace, testConfiguration, q, nodes)
		if err != nil {
			t.Fatal(err)
		}
		if got := failures(o)["a"]; got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestParsePeers(t *testing.T) {
	const (
		self  = 0xabc
		gauge = "# TYPE etcd_network_active_peers gauge\n"
	)
	for _, test := range []struct {
		name, text string
		want       []uint64
		fails      bool
	}{
		{name: "none", text: "go_goroutines 7\n"},
		{name: "two", text: gauge + "etcd_network_active_peers{Local=\"abc\",Remote=\"2\"} 1\netcd_network_active_peers{Local=\"abc\",Remote=\"1\"} 1\n", want: []uint64{1, 2}},
		{name: "one is lost", text: gauge + "etcd_network_active_peers{Local=\"abc\",Remote=\"2\"} 0\netcd_network_active_peers{Local=\"abc\",Remote=\"1\"} 1\n", want: []uint64{1}},
		{name: "those of another", text: gauge + "etcd_network_active_peers{Local=\"abd\",Remote=\"2\"} 1\n"},
		{name: "no number", text: gauge + "etcd_network_active_peers{Local=\"abc\",Remote=\"x\"} 1\n"},
		{name: "no metrics", text: "<html>", fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parsePeers(strings.NewReader(test.text), self)
			if (err != nil) != test.fails || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v; want %v, fails %t", got, err, test.want, test.fails)
			}
		})
	}
}

func FuzzParsePeers(f *testing.F) {
	f.Add("# TYPE etcd_network_active_peers gauge\netcd_network_active_peers{Local=\"abc\",Remote=\"2\"} 1\n")
	f.Add("# TYPE etcd_network_active_peers histogram\netcd_network_active_peers{Local=\"abc\"} 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parsePeers(strings.NewReader(text), 0xabc)
		if err != nil && got != nil {
			t.Errorf("peers %v in spite of %v", got, err)
		}
		if !slices.IsSorted(got) {
			t.Errorf("peers %v are not ordered", got)
		}
	})
}
