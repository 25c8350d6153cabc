// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/knownissues"
)

// probedConfig has pods that verify each other, and are probed at a named port.
const probedConfig = `
trustDomains:
- name: web
  signer: {secretName: web-signer}
  bundle: {configMapName: web-bundle}
  leaves: [{secretName: web-client, commonName: web-client, dnsNames: [web.svc], usages: [ServerAuth, ClientAuth]}]
  relyingParties:
  - name: clients
    pods:
      selector: {matchLabels: {tier: front, app: client}, matchExpressions: [{key: zone, operator: NotIn, values: [b, a]}]}
      portName: https
    verifies: {usages: [ClientAuth]}
    presents: [web-client]
    evidence: {kind: tlsProbe, tlsProbe: {serverName: web.svc, clientLeaf: web-client}}
`

// podState is a rotation with one pod that verifies and presents, and what is known of it.
type podState struct {
	config string
	pod    *corev1.Pod
	listed bool
}

// saidOf returns what blockers say of the pod, and why nothing is probed there.
func (s *podState) saidOf(t *testing.T) string {
	t.Helper()
	ca, next := authority(t, "ca"), authority(t, "next")
	signer := pairSecret(t, "web-signer", ca)
	signer.Data[inventory.NextCertKey], signer.Data[inventory.NextKeyKey] = next.CertPEM(), keyPEM(t, next)
	in := sources(t, configuration("config", s.config), signer, pairSecret(t, "web-client", issue(t, ca, "client")),
		bundle("web-bundle", ca.Certificate, next.Certificate), node("n1", "10.0.0.1"))
	in.Pods, in.Selectors = map[string]*inventory.Pod{}, map[string]bool{podsSelector: s.listed}
	if s.pod != nil {
		in.Pods[s.pod.Name] = inventory.ParsePod(s.pod)
	}
	d := inventory.Build(in).Domain("web")
	if d == nil {
		t.Fatalf("there is no domain: %s", allProblems(inventory.Build(in)))
	}
	var out strings.Builder
	for _, b := range trust.Assess(d, testTime).Blockers {
		fmt.Fprintln(&out, b.String())
	}
	for _, m := range d.Party("clients").Members {
		for _, probe := range m.Probes {
			fmt.Fprintln(&out, probe.Unknown)
		}
	}
	return out.String()
}

// elsewhere are the texts of pods that another test walks.
var elsewhere = map[string]string{
	"its selector has never chosen a pod":             "registry/trust TestLeafThatNoPodHasPresented",
	"delete the pod, so that it is proven to be gone": "registry/trust TestBlockersOfPodsSayWhy, TestRosterOfPods",
}

// TestWaysOutOfPods tests the table "Members that are pods" of docs/known-issues.md: a pod in such a state is told with
// that text, and no longer after what the page says to do.
func TestWaysOutOfPods(t *testing.T) {
	t.Parallel()
	ports := func(ports ...corev1.ContainerPort) []corev1.Container {
		return []corev1.Container{{Name: "web", Ports: ports}}
	}
	named := corev1.ContainerPort{Name: "https", ContainerPort: 8443}
	ways := map[string]struct {
		config        string
		begin, person func(*podState)
	}{
		"they have not been listed yet": {podsConfig, func(s *podState) { s.listed = false }, func(s *podState) { s.listed = true }},
		"it uses the network of its node": {
			probedConfig, func(s *podState) { s.pod.Spec.HostNetwork, s.pod.Spec.Containers = true, ports(named) }, func(s *podState) { s.config = podsConfig },
		},
		"none of its containers has a port named": {probedConfig, func(*podState) {}, func(s *podState) { s.pod.Spec.Containers = ports(named) }},
		"several of its ports are named": {
			probedConfig, func(s *podState) { s.pod.Spec.Containers = ports(named, named) }, func(s *podState) { s.pod.Spec.Containers[0].Ports[1].Name = "metrics" },
		},
		"it has no IP address": {
			probedConfig, func(s *podState) { s.pod.Status.PodIP, s.pod.Spec.Containers = "", ports(named) }, func(s *podState) { s.pod.Status.PodIP = "10.1.2.3" },
		},
		"in CrashLoopBackOff": {
			podsConfig, func(s *podState) {
				s.pod.Status.ContainerStatuses[0] = containerWaits("web", "CrashLoopBackOff", 3)
			}, func(s *podState) { s.pod = nil },
		},
		"it is terminating": {
			podsConfig, func(s *podState) { s.pod.DeletionTimestamp = new(metav1.NewTime(testTime)) }, func(s *podState) { s.pod = nil },
		},
		"its node has not said that its containers have ended": {
			podsConfig, func(s *podState) { s.pod.Status.Phase = corev1.PodFailed }, func(s *podState) { s.pod = nil },
		},
	}
	knownissues.Check(t, knownissues.Reasons(t, "Members that are pods"), ways, elsewhere)
	for text, way := range ways {
		t.Run(text, func(t *testing.T) {
			s := &podState{config: way.config, pod: clientPod("web"), listed: true}
			way.begin(s)
			if said := s.saidOf(t); !strings.Contains(said, text) {
				t.Fatalf("it is not told: %s", said)
			}
			way.person(s)
			if said := s.saidOf(t); strings.Contains(said, text) {
				t.Errorf("it is told still: %s", said)
			}
		})
	}
}
