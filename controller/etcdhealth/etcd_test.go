// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/cluster"
)

const (
	testNamespace = "etcd"
	// testConfiguration is the one to which the leaf and the bundle consent.
	testConfiguration = "pki"
	leafName          = "etcd-client"
	bundleName        = "etcd-bundle"
)

// members are real etcd members on addresses of the loopback, which have all ports in common, as nodes have.
type members struct {
	ca         *pki.Pair
	names      []string
	processes  map[string]*cluster.Process
	dirs       map[string]string
	nodes      []*inventory.Node
	clientPort int
	quorum     *configv1alpha1.Quorum
}

// startMembers starts a cluster that needs certificates of clients and peers, and waits until every member is healthy.
func startMembers(t *testing.T, n int) *members {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	m := &members{ca: newAuthority(t, "etcd-ca"), processes: map[string]*cluster.Process{}, dirs: map[string]string{}}
	var peerPort int
	if m.clientPort, err = cluster.FreePort(); err != nil {
		t.Fatal(err)
	}
	if peerPort, err = cluster.FreePort(); err != nil {
		t.Fatal(err)
	}
	var initial []string
	for i := range n {
		name, address := fmt.Sprintf("node-%d", i+1), fmt.Sprintf("127.0.0.%d", i+1)
		m.names = append(m.names, name)
		m.nodes = append(m.nodes, &inventory.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Addresses: []string{address}})
		initial = append(initial, fmt.Sprintf("%s=https://%s:%d", name, address, peerPort))
	}
	for i, name := range m.names {
		dir, address := t.TempDir(), m.nodes[i].Addresses[0]
		m.dirs[name] = dir
		m.write(t, dir, "client", issue(t, m.ca, name, time.Hour, pki.ServerAuth, pki.ClientAuth))
		m.write(t, dir, "peer", issue(t, m.ca, name, time.Hour, pki.ServerAuth, pki.ClientAuth))
		client, peer := fmt.Sprintf("https://%s:%d", address, m.clientPort), fmt.Sprintf("https://%s:%d", address, peerPort)
		m.processes[name] = cluster.NewProcess(cluster.ProcessConfig{
			Name: name, Path: filepath.Join(root, "bin", "tools", "etcd"), Dir: dir,
			Args: []string{
				"--name=" + name, "--data-dir=" + filepath.Join(dir, "data"), "--unsafe-no-fsync=true",
				"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
				"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=" + strings.Join(initial, ","),
				"--client-cert-auth=true", "--trusted-ca-file=" + filepath.Join(dir, "ca.crt"),
				"--cert-file=" + filepath.Join(dir, "client.crt"), "--key-file=" + filepath.Join(dir, "client.key"),
				"--peer-client-cert-auth=true", "--peer-trusted-ca-file=" + filepath.Join(dir, "ca.crt"),
				"--peer-cert-file=" + filepath.Join(dir, "peer.crt"), "--peer-key-file=" + filepath.Join(dir, "peer.key"),
			},
		})
		m.start(t, name)
	}
	m.quorum = &configv1alpha1.Quorum{
		Endpoint: fmt.Sprintf("https://{node}:%d", m.clientPort), ClientLeaf: leafName, BundleConfigMapName: bundleName,
		Timeout: &metav1.Duration{Duration: 3 * time.Second},
	}
	c := m.checker(t)
	for _, name := range m.names {
		m.wait(t, c, func(o quorum.Observation) error { return refusal(quorum.Rejoined(o, name)) })
	}
	return m
}

func (m *members) start(t *testing.T, name string) {
	t.Helper()
	p := m.processes[name]
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%s: %s", name, lastLines(p.LogFile()))
		}
	})
}

func lastLines(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// write puts what a member presents and trusts where it reads it.
func (m *members) write(t *testing.T, dir, name string, pair *pki.Pair) {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{"ca.crt": m.ca.Certificate.PEM(), name + ".crt": pair.CertPEM(), name + ".key": key} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checker has a good client leaf, unless the objects say otherwise.
func (m *members) checker(t *testing.T, objects ...runtime.Object) *Checker {
	t.Helper()
	if objects == nil {
		objects = []runtime.Object{leafSecret(t, issue(t, m.ca, "client", time.Hour, pki.ClientAuth)), bundleOf(m.ca)}
	}
	c, err := New(Config{
		Client: apifake.New(t, clock.RealClock{}, objects...).Client,
		Dial:   dial.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil).DialContext,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (m *members) check(t *testing.T, c *Checker) quorum.Observation {
	t.Helper()
	o, err := c.Check(t.Context(), testNamespace, testConfiguration, m.quorum, m.nodes)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// wait asks until the answers are as wanted: elections and connections take the time they take.
func (m *members) wait(t *testing.T, c *Checker, wanted func(quorum.Observation) error) quorum.Observation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		o := m.check(t, c)
		err := wanted(o)
		if err == nil {
			return o
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%v\nobservation: %+v", err, o)
		}
	}
}

func refusal(v quorum.Verdict) error {
	if v.Safe {
		return nil
	}
	return errors.New(string(v.Reason) + ": " + v.Message)
}

// failures are what the observation says of each node.
func failures(o quorum.Observation) map[string]string {
	out := map[string]string{}
	for _, m := range o.Members {
		out[m.Node] = m.Failure
	}
	return out
}

func same(text string, names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		out[name] = text
	}
	return out
}

func newAuthority(t *testing.T, name string) *pki.Pair {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: 24 * time.Hour}, time.Now().Add(-12*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// issue makes a leaf that ends in the given time, or has ended that long ago.
func issue(t *testing.T, ca *pki.Pair, name string, end time.Duration, usages ...pki.Usage) *pki.Pair {
	t.Helper()
	leaf, err := ca.Issue(pki.Profile{
		CommonName: name, Usages: usages, Key: pki.ECDSAP256, Validity: time.Hour,
		IPAddresses: []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"},
	}, time.Now().Add(end-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func leafSecret(t *testing.T, pair *pki.Pair) *corev1.Secret {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: consenting(leafName),
		Data:       map[string][]byte{inventory.ActiveCertKey: pair.CertPEM(), inventory.ActiveKeyKey: key},
	}
}

// consenting is the metadata of an object that the configuration may use.
func consenting(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: testNamespace, Name: name, Annotations: map[string]string{trust.AnnotationConfiguration: testConfiguration},
	}
}

func bundleOf(cas ...*pki.Pair) *corev1.ConfigMap {
	var text strings.Builder
	for _, ca := range cas {
		text.Write(ca.Certificate.PEM())
	}
	return &corev1.ConfigMap{
		ObjectMeta: consenting(bundleName),
		Data:       map[string]string{inventory.BundleKey: text.String()},
	}
}
