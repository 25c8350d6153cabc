// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// startedMutants are wrong about programs that read their files only at start, or about their restarts.
//
// No mutant keeps the evidence of a container after its restart: mounted files only become newer, so the next
// container has read no less of what a rotation waits for.
func startedMutants() []mutant {
	harm := []string{"Handshake", "TrustBeforeUse", "AnchorInUse"}
	churn := []string{"restarter", "rollout", "pod started", "start", "pod gone", "pod deleted", "observe"}
	out := []mutant{
		loose(directed("what a pod names is taken for what the object has", nothing, startedClient, append(churn, "template by hand", "restart")...),
			func(o *options) { o.annotated = true }),
		loose(directed("two workloads of a party are restarted at once", nothing, twoWorkloads, churn...), func(o *options) { o.due = dueTogether }),
	}
	for i := range out {
		out[i].pods, out[i].breaks = true, harm
	}
	out[1].breaks = []string{"OneWorkload"}
	return out
}

// targetMutants are wrong about an object with caBundles.
func targetMutants() []mutant {
	events := []string{"injector", "watch", "caBundle by hand", "observe", "time"}
	out := []mutant{
		directed("a new injection counts at once", injectedAtOnce, hookedServer, "injector", "watch", "observe"),
		loose(directed("what an object gains counts since it was first looked at", nothing, hookedServer, events...), func(o *options) { o.gainedBefore = true }),
		loose(directed("what one webhook has is taken for what all have", nothing, hookedServer, events...), func(o *options) { o.anyEntry = true }),
		loose(directed("what an object has held once counts", nothing, hookedServer, events...), func(o *options) { o.everHeld = true }),
	}
	for i := range out {
		out[i].pods, out[i].breaks = true, []string{"Handshake", "TrustBeforeUse", "AnchorInUse"}
	}
	return out
}

// startedClient makes a world in which the pods of a client read their files only at start.
func startedClient(t *topology) {
	*t = topology{
		pods: true, started: true, servers: 1, serverKind: configv1alpha1.EvidenceTLSProbe,
		clientKinds: []configv1alpha1.EvidenceKind{configv1alpha1.EvidenceWorkloadRollout},
	}
}

func twoWorkloads(t *topology) {
	startedClient(t)
	t.twoWorkloads = true
}

// hookedServer makes a world in which kube-apiservers call a server.
func hookedServer(t *topology) {
	*t = topology{hooked: true, servers: 1, serverKind: configv1alpha1.EvidenceTLSProbe}
}

// injectedAtOnce takes what was written into a caBundle for what kube-apiservers verify by.
func injectedAtOnce(d *trust.Domain, _ time.Time) {
	for i := range d.Parties {
		if p := &d.Parties[i]; p.Kind == trust.CABundle {
			p.Grace = time.Nanosecond
		}
	}
}

// dueTogether takes each workload of a party by itself.
func dueTogether(d *trust.Domain, known map[trust.Workload]trust.Progress, w *world) []trust.Restart {
	var out []trust.Restart
	for i := range d.Parties {
		for _, of := range d.Parties[i].Workloads {
			alone := copyOf(d)
			for k := range alone.Parties {
				if k != i {
					alone.Parties[k].Workloads = nil
				}
			}
			alone.Parties[i].Workloads = []trust.Workload{of}
			out = append(out, trust.Restarts(alone, w.clock.now(), known)...)
		}
	}
	return out
}
