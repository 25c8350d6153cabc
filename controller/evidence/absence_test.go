// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// etcdMembers is a Quorum with a fixed answer.
type etcdMembers struct {
	o     quorum.Observation
	err   error
	asked []string
}

// Check implements Quorum.
func (m *etcdMembers) Check(_ context.Context, _, _ string, _ *configv1alpha1.Quorum, nodes []*inventory.Node) (quorum.Observation, error) {
	for _, n := range nodes {
		m.asked = append(m.asked, string(n.UID))
	}
	return m.o, m.err
}

// TestAbsences: the configuration no longer names a member, because its node lost the label or is gone.
func TestAbsences(t *testing.T) {
	ca := newAuthority(t, "ca@1")
	pod := frozen{number: 1, leaf: newLeaf(t, ca, "peer", pki.ServerAuth), anchors: []*pki.Pair{ca}}.pod(t)
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "web"}, Spec: corev1.PodSpec{NodeName: nodeName}}
	without := quorum.Observation{Confirmed: true, Voters: []uint64{2}, Members: []quorum.Member{{Node: "b", MemberID: 2, Voter: true, Answers: true}}}
	with := without
	with.Members = append(slices.Clone(without.Members), quorum.Member{MemberID: 1, Name: nodeName, Voter: true})
	gone := trust.RosterMember{Party: "etcd", Member: nodeName, Instance: string(nodeUID), Presents: []string{"presented"}}
	for _, test := range []struct {
		name    string
		objects []runtime.Object
		missing trust.RosterMember
		// members of etcd, nil for a rollout without a quorum. unasked is true for a collector without a Quorum.
		members *etcdMembers
		unasked bool
		// plain is true for a namespace without rollouts, placed for a member that is a static pod. refused is a
		// resource whose list is refused.
		plain   bool
		placed  bool
		refused string
		// issuedFor is the address in the leaf that it presents, "" if that leaf is gone.
		issuedFor string
		want      bool
	}{
		{name: "its node, its pod and its member of etcd are gone", missing: gone, members: &etcdMembers{o: without}, want: true},
		{name: "its node has only lost the label", missing: gone, objects: []runtime.Object{theNode(nodeUID)}, members: &etcdMembers{o: without}},
		{name: "another machine has its name", missing: gone, issuedFor: "10.9.9.9", objects: []runtime.Object{theNode("uid-new")}, members: &etcdMembers{o: without}, want: true},
		{name: "the same machine has registered again", missing: gone, issuedFor: nodeAddress, objects: []runtime.Object{theNode("uid-new")}, members: &etcdMembers{o: without}},
		{name: "a node has its name, and nothing tells which machine it is", missing: gone, objects: []runtime.Object{theNode("uid-new")}, members: &etcdMembers{o: without}},
		{name: "only its Node object is gone", missing: gone, objects: []runtime.Object{pod}, members: &etcdMembers{o: without}},
		{name: "etcd still has it", missing: gone, members: &etcdMembers{o: with}},
		{name: "etcd cannot be asked", missing: gone, members: &etcdMembers{err: errors.New("no client leaf")}},
		{name: "nobody is there to ask etcd", missing: gone, members: &etcdMembers{o: without}, unasked: true},
		{name: "a rollout without etcd", missing: gone, want: true},
		{name: "no rollout", missing: gone, plain: true, want: true},
		{name: "its rollout was taken out of the configuration", missing: gone, plain: true, placed: true},
		{name: "no rollout, and a pod of any namespace names its node", missing: gone, plain: true, objects: []runtime.Object{other}},
		{name: "a rollout, and a pod of another namespace", missing: gone, objects: []runtime.Object{other}, want: true},
		{name: "nodes may not be listed", missing: gone, refused: "nodes"},
		{name: "pods may not be listed", missing: gone, refused: "pods"},
		{name: "it is not known which node it was", missing: trust.RosterMember{Party: "etcd", Member: nodeName}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := etcdNamespace(ca)
			r := n.Rollouts[0]
			r.Nodes = append(r.Nodes, &inventory.Node{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "uid-b"}})
			cfg := &Config{Inventory: &fixed{n: n}}
			if test.members != nil {
				r.Config.Quorum = &configv1alpha1.Quorum{}
				if !test.unasked {
					cfg.Quorum = test.members
				}
			}
			if test.plain {
				n.Rollouts = nil
			}
			if test.placed {
				test.missing.Kind = trust.StaticPodRevision
			}
			if test.issuedFor != "" {
				n.Domains[0].Leaves = append(n.Domains[0].Leaves, trust.Leaf{
					Object: trust.Object{Name: "presented"}, Certificate: &pki.Certificate{IPAddresses: []string{test.issuedFor}},
				})
			}
			n.Domains[0].Roster = &trust.Roster{Members: []trust.RosterMember{test.missing}}
			api := apifake.New(t, clock.RealClock{}, test.objects...)
			api.ReadFault = func(r *apifake.Request) apifake.Fault {
				if r.Verb == "list" && r.Resource.Resource == test.refused {
					return apifake.Forbidden
				}
				return apifake.NoFault
			}
			c := collectorWith(t, api, cfg)
			got, err := c.Absences(t.Context(), n.Domains[0], []trust.RosterMember{test.missing})
			if err != nil {
				t.Fatal(err)
			}
			key := trust.AbsenceKey(&test.missing)
			if proven := got[key] != ""; proven != test.want || len(got) > 1 {
				t.Errorf("proofs %v, want one of %s: %t", got, key, test.want)
			}
			if test.members != nil && test.want {
				if diff := cmp.Diff([]string{"uid-b"}, test.members.asked); diff != "" {
					t.Errorf("asked on nodes (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestAbsencesOfSeveral: a member without proof does not prevent the proof of another one.
func TestAbsencesOfSeveral(t *testing.T) {
	n := etcdNamespace(newAuthority(t, "ca@1"))
	c, _ := newCollector(t, &fixed{n: n}, theNode(nodeUID))
	missing := []trust.RosterMember{
		{Party: "etcd", Member: nodeName, Instance: string(nodeUID)}, {Party: "etcd", Member: "gone", Instance: "uid-gone"},
	}
	got, err := c.Absences(t.Context(), n.Domains[0], missing)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"etcd/gone/uid-gone"}, slices.Collect(maps.Keys(got))); diff != "" {
		t.Errorf("proofs (-want +got):\n%s", diff)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Absences(ended, n.Domains[0], missing); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
}
