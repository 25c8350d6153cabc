// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/evidence/connection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// TestHealthyMembers asks a cluster that nothing is wrong with, as several clients with which something may be.
func TestHealthyMembers(t *testing.T) {
	m := startMembers(t, 3)
	foreign := newAuthority(t, "foreign")
	client := issue(t, m.ca, "client", time.Hour, pki.ClientAuth)
	for _, test := range []struct {
		name    string
		objects []runtime.Object
		// failure of each member.
		failure string
	}{
		{name: "a good client"},
		{
			name:    "a bundle with another CA besides",
			objects: []runtime.Object{leafSecret(t, client), bundleOf(foreign, m.ca)},
		},
		{
			name:    "a bundle with another CA instead",
			objects: []runtime.Object{leafSecret(t, client), bundleOf(foreign)},
			failure: connection.Unproven,
		},
		{
			name:    "a client of another CA",
			objects: []runtime.Object{leafSecret(t, issue(t, foreign, "client", time.Hour, pki.ClientAuth)), bundleOf(m.ca)},
			failure: "it refuses the handshake: tls: unknown certificate authority",
		},
		{
			name:    "an expired client",
			objects: []runtime.Object{leafSecret(t, issue(t, m.ca, "client", -time.Hour, pki.ClientAuth)), bundleOf(m.ca)},
			failure: "it refuses the handshake: tls: expired certificate",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := m.checker(t, test.objects...)
			o := m.check(t, c)
			if diff := cmp.Diff(same(test.failure, m.names...), failures(o)); diff != "" {
				t.Fatalf("failures (-want +got):\n%s", diff)
			}
			for _, name := range m.names {
				v := quorum.Assess("", o, name)
				if v.Safe != (test.failure == "") {
					t.Errorf("%s may be restarted: %s: %s", name, v.Reason, v.Message)
				}
			}
			if diff := cmp.Diff(failures(o), failures(m.check(t, c))); diff != "" {
				t.Errorf("the same failures have other words (-first +second):\n%s", diff)
			}
		})
	}
	t.Run("endpoints that lead to one member", func(t *testing.T) {
		q := m.quorum.DeepCopy()
		q.Endpoint = fmt.Sprintf("https://127.0.0.1:%d", m.clientPort)
		o, err := m.checker(t).Check(t.Context(), testNamespace, testConfiguration, q, m.nodes)
		if err != nil {
			t.Fatal(err)
		}
		if v := quorum.Assess("", o, "node-1"); v.Reason != quorum.ReasonContradiction {
			t.Errorf("got %s: %s", v.Reason, v.Message)
		}
	})
}

// TestMemberIsDown kills a member, and starts it again.
func TestMemberIsDown(t *testing.T) {
	m := startMembers(t, 3)
	c := m.checker(t)
	if err := m.processes["node-2"].Kill(); err != nil {
		t.Fatal(err)
	}
	o := m.wait(t, c, func(o quorum.Observation) error { return refusal(quorum.Assess("", o, "node-2")) })
	want := same("", m.names...)
	want["node-2"] = connection.Unproven
	if diff := cmp.Diff(want, failures(o)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if v := quorum.Assess("", o, "node-1"); v.Reason != quorum.ReasonQuorumAtRisk {
		t.Errorf("a second one: got %s: %s", v.Reason, v.Message)
	}
	if v := quorum.Rejoined(o, "node-2"); v.Safe {
		t.Errorf("it is said to be back: %s", v.Message)
	}
	m.start(t, "node-2")
	m.wait(t, c, func(o quorum.Observation) error { return refusal(quorum.Rejoined(o, "node-2")) })
}

// TestMemberIsFrozen has a member accept connections and say nothing.
func TestMemberIsFrozen(t *testing.T) {
	m := startMembers(t, 3)
	c := m.checker(t)
	m.freeze(t, "node-3")
	o := m.wait(t, c, func(o quorum.Observation) error { return refusal(quorum.Assess("", o, "node-3")) })
	if got := failures(o)["node-3"]; got != connection.Unproven {
		t.Errorf("the frozen member: %s", got)
	}
	m.thaw(t, "node-3")
	m.wait(t, c, func(o quorum.Observation) error { return refusal(quorum.Rejoined(o, "node-3")) })
}

// TestMemberIsAlone leaves a member that still answers out of its own data, which is all that its pod's readiness looks
// at. A linearizable read through it fails.
func TestMemberIsAlone(t *testing.T) {
	m := startMembers(t, 3)
	m.freeze(t, "node-2")
	m.freeze(t, "node-3")
	o := m.check(t, m.checker(t))
	alone := o.Member("node-1")
	if !alone.Answers || alone.Healthy || o.Confirmed || len(o.Voters) != 3 {
		t.Errorf("answers %t, healthy %t, confirmed %t, %d voters", alone.Answers, alone.Healthy, o.Confirmed, len(o.Voters))
	}
	if !strings.HasPrefix(alone.Failure, "a linearizable read through it fails: ") {
		t.Errorf("failure: %s", alone.Failure)
	}
	for _, node := range append([]string{""}, m.names...) {
		if v := quorum.Assess("", o, node); v.Safe {
			t.Errorf("%q may be restarted: %s: %s", node, v.Reason, v.Message)
		}
	}
	m.thaw(t, "node-2")
	m.thaw(t, "node-3")
}

// TestMembersThatHaveLostEachOther: a member comes back, reads through the leader and is healthy, but its connections
// with the third member fail because of their certificates. If the leader were restarted now, nobody could take over.
func TestMembersThatHaveLostEachOther(t *testing.T) {
	m := startMembers(t, 3)
	c := m.checker(t)
	before := m.check(t, c)
	var leader string
	var followers []string
	for _, member := range before.Members {
		if member.MemberID == before.Leader {
			leader = member.Node
		} else {
			followers = append(followers, member.Node)
		}
	}
	restarted, other := followers[0], followers[1]
	m.write(t, m.dirs[other], "peer", issue(t, newAuthority(t, "foreign"), other, time.Hour, pki.ServerAuth, pki.ClientAuth))
	if err := m.processes[restarted].Kill(); err != nil {
		t.Fatal(err)
	}
	m.start(t, restarted)
	o := m.wait(t, c, func(o quorum.Observation) error {
		if back := o.Member(restarted); !back.Healthy || o.Leader == 0 {
			return fmt.Errorf("%s is not back: %s", restarted, back.Failure)
		}
		return nil
	})
	if got := o.Member(leader); got.MemberID != o.Leader {
		t.Fatalf("%s has lost the lead, although a quorum has stayed", leader)
	}
	if v := quorum.Rejoined(o, restarted); v.Safe || !strings.Contains(v.Message, "not connected with "+other) {
		t.Errorf("the restarted member: %s: %s", v.Reason, v.Message)
	}
	if v := quorum.Assess("", o, leader); v.Reason != quorum.ReasonDisconnected {
		t.Errorf("the leader: %s: %s", v.Reason, v.Message)
	}
}

// TestTwoMembers has one of two down: the other cannot serve a linearizable read, and the broken one may be repaired.
func TestTwoMembers(t *testing.T) {
	m := startMembers(t, 2)
	c := m.checker(t)
	if v := quorum.Assess("", m.check(t, c), "node-1"); v.Reason != quorum.ReasonInterruption {
		t.Errorf("both healthy: %s: %s", v.Reason, v.Message)
	}
	if err := m.processes["node-2"].Kill(); err != nil {
		t.Fatal(err)
	}
	o := m.check(t, c)
	if v := quorum.Assess("", o, "node-2"); v.Reason != quorum.ReasonRepair {
		t.Errorf("the broken one: %s: %s", v.Reason, v.Message)
	}
	if v := quorum.Assess("", o, "node-1"); v.Safe {
		t.Errorf("the one that is left: %s: %s", v.Reason, v.Message)
	}
	m.start(t, "node-2")
	m.wait(t, c, func(o quorum.Observation) error { return refusal(quorum.Rejoined(o, "node-2")) })
}

// freeze stops all threads of a member, and waits until the last of them has stopped: the signal alone leaves time for
// one more handshake.
func (m *members) freeze(t *testing.T, name string) {
	t.Helper()
	if err := m.processes[name].Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	pid := m.processes[name].Pid()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		return stopped(pid)
	})
	if err != nil {
		t.Fatalf("process %d of %s does not stop: %v", pid, name, err)
	}
}

// stopped says whether no thread of a process runs any more.
func stopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false, err
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			return false, err
		}
		// The state follows the name, which stands in parentheses.
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

// TestAddressesThatAreNotDialled names them, without a process at any of them.
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
