// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/quorum"
)

// TestThreeMembers disturbs one cluster in several ways, in turn.
func TestThreeMembers(t *testing.T) {
	m := startMembers(t, 3)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *members)
	}{
		{"clients with which something is wrong", testClients},
		{"endpoints that lead to one member", testOneEndpoint},
		{"members that are pods", testPods},
		{"one is down", testDown},
		{"one is frozen", testFrozen},
		{"one is alone", testAlone},
	} {
		t.Run(test.name, func(t *testing.T) {
			m.mend(t)
			test.run(t, m)
		})
	}
}

// testClients checks a healthy cluster with valid and invalid client identities.
func testClients(t *testing.T, m *members) {
	foreign := newAuthority(t, "foreign")
	client := issue(t, m.ca, "client", time.Hour, pki.ClientAuth)
	for _, test := range []struct {
		name    string
		objects []runtime.Object
		// failure is expected of each member.
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
			failure: dial.Unproven,
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
			if test.failure == "" {
				m.wait(t, c, func(o quorum.Observation) error { return everyone(o, m.names) })
				return
			}
			c.refusalTimeout = ample
			for range 2 { // The same failures must have the same text.
				o := m.check(t, c, ample)
				if diff := cmp.Diff(same(test.failure, m.names...), failures(o)); diff != "" {
					t.Fatalf("failures (-want +got):\n%s", diff)
				}
				nobody(t, o, m.names)
			}
		})
	}
}

func testOneEndpoint(t *testing.T, m *members) {
	q := m.quorum.DeepCopy()
	q.Endpoint = fmt.Sprintf("https://127.0.0.1:%d", m.clientPort)
	q.Timeout = &metav1.Duration{Duration: ample}
	o, err := m.checker(t).Check(t.Context(), testNamespace, testConfiguration, q, m.nodes)
	if err != nil {
		t.Fatal(err)
	}
	if v := quorum.Assess("", o, "node-1"); v.Reason != quorum.ReasonContradiction {
		t.Errorf("got %s: %s", v.Reason, v.Message)
	}
}

// testPods checks members whose leaf is valid for a name and for none of their addresses.
func testPods(t *testing.T, m *members) {
	const name = "etcd.etcd.svc"
	leaf, err := m.ca.Issue(pki.Profile{
		CommonName: "etcd", Usages: []pki.Usage{pki.ServerAuth, pki.ClientAuth}, Key: pki.ECDSAP256, Validity: time.Hour, DNSNames: []string{name},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var pods []*corev1.Pod
	for i, member := range m.names {
		// etcd reads its leaf at each handshake.
		m.write(t, member, "client", leaf)
		t.Cleanup(func() {
			m.write(t, member, "client", issue(t, m.ca, member, time.Hour, pki.ServerAuth, pki.ClientAuth))
		})
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: member, UID: types.UID(member)},
			Status:     corev1.PodStatus{PodIP: m.nodes[i].Addresses[0], PodIPs: []corev1.PodIP{{IP: m.nodes[i].Addresses[0]}}},
		})
	}
	for called, failure := range map[string]string{name: "", "other.etcd.svc": dial.Unproven, "": dial.Unproven} {
		t.Run("called "+called, func(t *testing.T) {
			q := m.quorum.DeepCopy()
			q.Endpoint, q.ServerName = fmt.Sprintf("https://{pod}:%d", m.clientPort), called
			c := m.checker(t)
			ask := func(timeout time.Duration) quorum.Observation {
				q.Timeout = &metav1.Duration{Duration: timeout}
				o, err := c.CheckPods(t.Context(), testNamespace, testConfiguration, q, pods)
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			if failure == "" {
				until(t, ask, func(o quorum.Observation) error { return everyone(o, m.names) })
				return
			}
			o := ask(ample)
			if diff := cmp.Diff(same(failure, m.names...), failures(o)); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			nobody(t, o, m.names)
		})
	}
}

func testDown(t *testing.T, m *members) {
	c := m.checker(t)
	if err := m.processes["node-2"].Kill(); err != nil {
		t.Fatal(err)
	}
	o := m.wait(t, c, func(o quorum.Observation) error { return refusal(quorum.Assess("", o, "node-2")) })
	want := same("", m.names...)
	want["node-2"] = dial.Unproven
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

// testFrozen has a member accept connections without an answer.
func testFrozen(t *testing.T, m *members) {
	c := m.checker(t)
	m.freeze(t, "node-3")
	o := m.wait(t, c, func(o quorum.Observation) error { return refusal(quorum.Assess("", o, "node-3")) })
	if got := failures(o)["node-3"]; got != dial.Unproven {
		t.Errorf("the frozen member: %s", got)
	}
	m.thaw(t, "node-3")
	m.wait(t, c, func(o quorum.Observation) error { return refusal(quorum.Rejoined(o, "node-3")) })
}

// testAlone freezes the other two members. The last one still answers from its own data, but a linearizable read
// through it fails.
func testAlone(t *testing.T, m *members) {
	m.freeze(t, "node-2")
	m.freeze(t, "node-3")
	o := m.wait(t, m.checker(t), func(o quorum.Observation) error {
		if alone := o.Member("node-1"); !alone.Answers || len(o.Voters) != 3 {
			return fmt.Errorf("it answers: %t, with %d voters: %s", alone.Answers, len(o.Voters), alone.Failure)
		}
		return nil
	})
	alone := o.Member("node-1")
	if alone.Healthy || o.Confirmed || !strings.HasPrefix(alone.Failure, "a linearizable read through it fails: ") {
		t.Errorf("healthy %t, confirmed %t, failure: %s", alone.Healthy, o.Confirmed, alone.Failure)
	}
	nobody(t, o, append([]string{""}, m.names...))
	m.thaw(t, "node-2")
	m.thaw(t, "node-3")
}

// TestMembersThatHaveLostEachOther: a restarted member reads through the leader and is healthy. Its certificates
// fail with the third member, so a restart of the leader would lose the quorum.
func TestMembersThatHaveLostEachOther(t *testing.T) {
	const restarted, leader, other = "node-1", "node-2", "node-3"
	second := newAuthority(t, "second")
	m := startMembers(t, 3, second)
	c := m.checker(t)
	// The leader trusts both CAs, so it always connects with the third member.
	m.write(t, other, "peer", issue(t, second, other, time.Hour, pki.ServerAuth, pki.ClientAuth))
	m.anchors(t, restarted, m.ca)
	if err := m.processes[restarted].Kill(); err != nil {
		t.Fatal(err)
	}
	m.start(t, restarted)
	m.wait(t, c, func(o quorum.Observation) error {
		if err := m.lead(t, c, o, leader); err != nil {
			return err
		}
		if back := o.Member(restarted); !back.Healthy {
			return fmt.Errorf("%s is not back: %s", restarted, back.Failure)
		}
		// The leader notices the restarted member only after a while.
		if v := quorum.Rejoined(o, restarted); v.Safe || !strings.Contains(v.Message, "not connected with "+other) {
			return fmt.Errorf("the restarted member: %s: %s", v.Reason, v.Message)
		}
		return because(quorum.Assess("", o, leader), quorum.ReasonDisconnected)
	})
}

// TestTwoMembers stops one of two: the other serves no linearizable read, and the stopped one may be repaired.
func TestTwoMembers(t *testing.T) {
	m := startMembers(t, 2)
	c := m.checker(t)
	m.wait(t, c, func(o quorum.Observation) error {
		return because(quorum.Assess("", o, "node-1"), quorum.ReasonInterruption)
	})
	if err := m.processes["node-2"].Kill(); err != nil {
		t.Fatal(err)
	}
	o := m.wait(t, c, func(o quorum.Observation) error {
		return because(quorum.Assess("", o, "node-2"), quorum.ReasonRepair)
	})
	nobody(t, o, []string{"node-1"})
	m.start(t, "node-2")
	m.wait(t, c, func(o quorum.Observation) error { return refusal(quorum.Rejoined(o, "node-2")) })
}

// everyone returns nil if no member has a failure and each may be restarted.
func everyone(o quorum.Observation, names []string) error {
	if diff := cmp.Diff(same("", names...), failures(o)); diff != "" {
		return errors.New("failures (-want +got):\n" + diff)
	}
	for _, name := range names {
		if err := refusal(quorum.Assess("", o, name)); err != nil {
			return fmt.Errorf("restart %s: %w", name, err)
		}
	}
	return nil
}

// nobody fails the test if any of the members may be restarted.
func nobody(t *testing.T, o quorum.Observation, names []string) {
	t.Helper()
	for _, name := range names {
		if v := quorum.Assess("", o, name); v.Safe {
			t.Errorf("%q may be restarted: %s: %s", name, v.Reason, v.Message)
		}
	}
}

func refusal(v quorum.Verdict) error {
	if v.Safe {
		return nil
	}
	return errors.New(string(v.Reason) + ": " + v.Message)
}

func because(v quorum.Verdict, want quorum.Reason) error {
	if v.Reason == want {
		return nil
	}
	return fmt.Errorf("%s: %s; want %s", v.Reason, v.Message, want)
}

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
