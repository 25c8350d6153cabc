// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// podLabel is the label by which a relying party selects its pods. Its value is the name of the party.
const podLabel = "app"

// podPort is where pods are probed.
const podPort = 8443

// drawWorld draws a world. One in five has pods, and one in six of the others an issuer.
func drawWorld(d dice) topology {
	if in(d, 5, "pods") {
		return drawPods(d)
	}
	t := drawTopology(d)
	if in(d, 6, "cert-manager issues the leaves") {
		return t.issuedBy(d)
	}
	return t
}

// drawPods draws a world in which the clients, and maybe the servers, are pods.
func drawPods(d dice) topology {
	kinds := []configv1alpha1.EvidenceKind{configv1alpha1.EvidenceTLSProbe, configv1alpha1.EvidenceAcknowledgement}
	t := topology{pods: true, servers: 1 + d.roll(2, "servers"), serverKind: one(d, "evidence of the servers", kinds)}
	t.podServers, t.crossed = !in(d, 3, "servers are no pods"), in(d, 4, "two trust domains")
	for range 1 + d.roll(2, "clients") {
		// A client does not listen, so it cannot be probed.
		t.clientKinds = append(t.clientKinds, configv1alpha1.EvidenceAcknowledgement)
	}
	t.peers, t.short, t.pacing = in(d, 2, "peers"), in(d, 3, "short validity"), in(d, 4, "pacing")
	t.stateful, t.beside = in(d, 2, "names are used again"), in(d, 3, "anchors beside the leaves")
	// A wrong selector is detected only if no other party verifies or presents the same leaves.
	if in(d, 4, "a selector chooses nothing") && len(t.clientKinds) == 1 && !t.crossed && !t.peers {
		t.retyped = in(d, 2, "it did before")
		t.mistyped = !t.retyped
	}
	return t
}

// drawStarted draws a world with pods whose programs read their files only at start, with kube-apiservers that
// verify the servers by caBundles, or with both.
func drawStarted(d dice) topology {
	t := drawPods(d)
	t.mistyped, t.retyped = false, false
	if t.hooked = in(d, 2, "kube-apiservers call the servers"); t.hooked && in(d, 2, "nothing else") {
		return t
	}
	t.started = true
	for i := range t.clientKinds {
		t.clientKinds[i] = configv1alpha1.EvidenceWorkloadRollout
	}
	if t.podServers && in(d, 2, "the servers read their files when they start") {
		t.startedServers, t.serverKind = true, configv1alpha1.EvidenceWorkloadRollout
	}
	t.assumed, t.twoWorkloads = in(d, 4, "without start gates"), in(d, 3, "two workloads of a party")
	return t
}

// ofPods makes the members of a party the pods that have its name as their label.
func (t topology) ofPods(p *configv1alpha1.RelyingParty) {
	p.Members = nil
	p.Pods = &configv1alpha1.PodMembers{Selector: choosing(p.Name)}
	if rollout := p.Evidence.WorkloadRollout; rollout != nil {
		rollout.Workloads = t.workloadsOf(p.Name)
	}
	if p.Evidence.Kind == configv1alpha1.EvidenceTLSProbe {
		p.Pods.ContainerPort = podPort
		p.Evidence.TLSProbe = &configv1alpha1.TLSProbe{}
	}
}

func choosing(label string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{podLabel: label}}
}

// mistypes makes the first party of pods choose no pod.
func (w *world) mistypes() {
	w.say("a selector is mistyped")
	w.mistyped = true
	w.api.putConfiguration(mistyped(w.configuration), w.clock.now())
	w.lists()
}

func mistyped(cfg *configv1alpha1.RotationConfiguration) *configv1alpha1.RotationConfiguration {
	out := cfg.DeepCopy()
	parties := out.Spec.TrustDomains[0].RelyingParties
	for i := range parties {
		if parties[i].Pods != nil {
			parties[i].Pods.Selector = choosing("mistyped")
			break
		}
	}
	return out
}
