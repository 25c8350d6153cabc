// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/controller/evidence/connection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/quorum"
)

// TestMembersThatArePods asks members whose leaf is valid for a name, and for none of the addresses at which they are asked.
func TestMembersThatArePods(t *testing.T) {
	m := startMembers(t, 3)
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
		m.write(t, m.dirs[member], "client", leaf)
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: member, UID: types.UID(member)},
			Status:     corev1.PodStatus{PodIP: m.nodes[i].Addresses[0], PodIPs: []corev1.PodIP{{IP: m.nodes[i].Addresses[0]}}},
		})
	}
	for called, failure := range map[string]string{name: "", "other.etcd.svc": connection.Unproven, "": connection.Unproven} {
		t.Run("called "+called, func(t *testing.T) {
			q := m.quorum.DeepCopy()
			q.Endpoint, q.ServerName = fmt.Sprintf("https://{pod}:%d", m.clientPort), called
			o, err := m.checker(t).CheckPods(t.Context(), testNamespace, testConfiguration, q, pods)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(same(failure, m.names...), failures(o)); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			for _, pod := range pods {
				if v := quorum.Assess("", o, pod.Name); v.Safe != (failure == "") {
					t.Errorf("%s may be restarted: %s: %s", pod.Name, v.Reason, v.Message)
				}
			}
		})
	}
}
