// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/heldport"
)

const (
	testNamespace = "etcd"
	// testConfiguration may use leaf and bundle by their consent.
	testConfiguration = "pki"
	leafName          = "etcd-client"
	bundleName        = "etcd-bundle"
)

// ample is a timeout that only a silent member exceeds, also on a busy machine.
const ample = time.Minute

// members are real etcd members on loopback addresses. As on nodes, all use the same ports.
type members struct {
	ca         *pki.Pair
	names      []string
	processes  map[string]*cluster.Process
	dirs       map[string]string
	nodes      []*inventory.Node
	clientPort int
	quorum     *configv1alpha1.Quorum
}

// startMembers starts a cluster that requires certificates of clients and peers, and waits until every member is
// healthy. The members also trust others.
func startMembers(t *testing.T, n int, others ...*pki.Pair) *members {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	m := &members{
		ca: newAuthority(t, "etcd-ca"), processes: map[string]*cluster.Process{}, dirs: map[string]string{}, clientPort: heldport.Take(t),
	}
	peerPort := heldport.Take(t)
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
		m.anchors(t, name, append([]*pki.Pair{m.ca}, others...)...)
		for _, leaf := range []string{"client", "peer"} {
			m.write(t, name, leaf, issue(t, m.ca, name, time.Hour, pki.ServerAuth, pki.ClientAuth))
		}
		client, peer := fmt.Sprintf("https://%s:%d", address, m.clientPort), fmt.Sprintf("https://%s:%d", address, peerPort)
		m.processes[name] = cluster.NewProcess(cluster.ProcessConfig{
			Name: name, Path: filepath.Join(root, "bin", "tools", "etcd"), Dir: dir,
			Args: []string{
				"--name=" + name, "--data-dir=" + filepath.Join(dir, "data"), "--unsafe-no-fsync=true", "--socket-reuse-port=true",
				"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
				"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=" + strings.Join(initial, ","),
				"--client-cert-auth=true", "--trusted-ca-file=" + filepath.Join(dir, "ca.crt"),
				"--cert-file=" + filepath.Join(dir, "client.crt"), "--key-file=" + filepath.Join(dir, "client.key"),
				"--peer-client-cert-auth=true", "--peer-trusted-ca-file=" + filepath.Join(dir, "ca.crt"),
				"--peer-cert-file=" + filepath.Join(dir, "peer.crt"), "--peer-key-file=" + filepath.Join(dir, "peer.key"),
			},
		})
		t.Cleanup(func() { m.end(t, name) })
	}
	m.quorum = &configv1alpha1.Quorum{Endpoint: fmt.Sprintf("https://{node}:%d", m.clientPort), ClientLeaf: leafName, BundleConfigMapName: bundleName}
	m.mend(t)
	return m
}

// mend restarts killed members, thaws frozen ones, and waits until every member is healthy.
func (m *members) mend(t *testing.T) {
	t.Helper()
	for _, name := range m.names {
		if m.processes[name].Running() {
			m.thaw(t, name)
		} else {
			m.start(t, name)
		}
	}
	m.wait(t, m.checker(t), func(o quorum.Observation) error {
		for _, name := range m.names {
			if err := refusal(quorum.Rejoined(o, name)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *members) start(t *testing.T, name string) {
	t.Helper()
	if err := m.processes[name].Start(); err != nil {
		t.Fatal(err)
	}
}

// end kills a member, and logs its output if the test has failed.
func (m *members) end(t *testing.T, name string) {
	t.Helper()
	p := m.processes[name]
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Logf("%s: %s", name, lastLines(p.LogFile()))
	}
}

func lastLines(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// freeze stops a member and waits until its last thread has stopped. Right after the signal, one more handshake
// may succeed.
func (m *members) freeze(t *testing.T, name string) {
	t.Helper()
	if err := m.processes[name].Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	pid := m.processes[name].Pid()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return stopped(pid)
	})
	if err != nil {
		t.Fatalf("process %d of %s does not stop: %v", pid, name, err)
	}
}

// stopped reports whether all threads of a process are stopped.
func stopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false, err
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			// A thread ended meanwhile: the caller tries again.
			return false, nil
		}
		if err != nil {
			return false, err
		}
		// The state follows the name in parentheses.
		if _, state, ok := strings.Cut(string(stat), ") "); !ok || !strings.HasPrefix(state, "T") {
			return false, nil
		}
	}
	return true, nil
}

func (m *members) thaw(t *testing.T, name string) {
	t.Helper()
	if err := m.processes[name].Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// write replaces a leaf of a member. The member reads it at each handshake.
func (m *members) write(t *testing.T, name, leaf string, pair *pki.Pair) {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{leaf + ".crt": pair.CertPEM(), leaf + ".key": key} {
		if err := os.WriteFile(filepath.Join(m.dirs[name], file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// anchors replaces the CAs of a member. The member reads them at its next start.
func (m *members) anchors(t *testing.T, name string, cas ...*pki.Pair) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.dirs[name], "ca.crt"), encode(cas...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lead returns nil if the member leads. Otherwise it asks the leader to hand over: on a busy machine the leader
// may change at any time.
func (m *members) lead(t *testing.T, c *Checker, o quorum.Observation, name string) error {
	t.Helper()
	seen := o.Member(name)
	if seen.MemberID != 0 && seen.Leader == seen.MemberID {
		return nil
	}
	leader := slices.IndexFunc(m.nodes, func(node *inventory.Node) bool {
		other := o.Member(node.Name)
		return other.MemberID != 0 && other.MemberID == seen.Leader
	})
	if leader < 0 {
		return fmt.Errorf("%s follows nobody who answers", name)
	}
	identity, err := c.identity(t.Context(), testNamespace, testConfiguration, m.quorum)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	conn, err := c.connect(ctx, onNodes(m.nodes)[leader].endpoint(m.quorum.Endpoint), identity)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	if _, err := conn.MoveLeader(ctx, seen.MemberID); err != nil {
		return fmt.Errorf("%s does not hand over: %w", m.nodes[leader].Name, err)
	}
	return fmt.Errorf("%s has handed over", m.nodes[leader].Name)
}

// checker uses a valid client leaf, unless objects replaces leaf and bundle.
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

func (m *members) check(t *testing.T, c *Checker, timeout time.Duration) quorum.Observation {
	t.Helper()
	q := m.quorum.DeepCopy()
	q.Timeout = &metav1.Duration{Duration: timeout}
	o, err := c.Check(t.Context(), testNamespace, testConfiguration, q, m.nodes)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (m *members) wait(t *testing.T, c *Checker, wanted func(quorum.Observation) error) quorum.Observation {
	t.Helper()
	return until(t, func(timeout time.Duration) quorum.Observation { return m.check(t, c, timeout) }, wanted)
}

// patience is the timeout of conditions that must occur.
const patience = 5 * time.Minute

// until asks until wanted accepts the answers. It doubles the timeout of each question: a silent member uses all
// of it, and one on a busy machine may need more.
func until(t *testing.T, ask func(timeout time.Duration) quorum.Observation, wanted func(quorum.Observation) error) quorum.Observation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for timeout := 2 * time.Second; ; timeout = min(2*timeout, ample) {
		o := ask(timeout)
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

func newAuthority(t *testing.T, name string) *pki.Pair {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: 24 * time.Hour}, time.Now().Add(-12*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// issue makes a leaf that ends after the duration. A negative one makes an expired leaf.
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

// consenting returns the metadata of an object that the configuration may use.
func consenting(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: testNamespace, Name: name, Annotations: map[string]string{trust.AnnotationConfiguration: testConfiguration},
	}
}

func bundleOf(cas ...*pki.Pair) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: consenting(bundleName),
		Data:       map[string]string{inventory.BundleKey: string(encode(cas...))},
	}
}

func encode(cas ...*pki.Pair) []byte {
	var out []byte
	for _, ca := range cas {
		out = append(out, ca.Certificate.PEM()...)
	}
	return out
}
