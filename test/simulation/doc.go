// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation searches for an order of events in which a rotation breaks a handshake. It must find none.
//
// A world is a namespace with one or more trust domains. It has processes with what they have loaded and present, and
// an API server in memory. Leaders run the real controller (controller/rotation) over caches that lag, and people edit
// objects. Everything that happens is an event: dice choose the next event and its outcome. Some events happen between
// a read and a write of the controller.
//
// A member may have two processes, behind separate addresses or behind one. Evidence is recorded as in production: by
// process, with leases, and only what a collector or a report can know. Among the events are:
//
//   - configurations are edited in flight, with the guard or past it, and name members that do not exist;
//   - clients end at rest and leave the configuration. WhoCounts: those count on of which the guard said so;
//   - nodes lose their labels and their objects while their processes live;
//   - everything is restored from a backup;
//   - all clocks jump ahead and come back;
//   - writes are refused permanently;
//   - reports are late, forged and replayed;
//   - Secrets become unreadable, or are all deleted at once;
//   - a CA is renewed with its key, or gets another key identifier;
//   - members that cannot run are waived;
//   - everything expires while the power is off, and is recovered offline.
//
// In one world of five (in all with WORLDS=pods) the clients, and mostly the servers, are pods. There:
//
//   - pods come and go, crash, terminate slowly, are evicted, vanish with their nodes, lose labels and get them back;
//   - workloads scale to zero and back, and names are reused;
//   - selectors are edited in flight, or are wrong from the beginning;
//   - informers do not show pods for a while, or may not list them;
//   - a container, or another pod of the same name, starts with older content and does not report;
//   - a pod reports for another one, under its own UID or the other's, and a report arrives when its pod is gone.
//
// In one of six of the other worlds (in all with WORLDS=issued) cert-manager issues the leaves, and in half of these
// its CAs. It answers requests late, or fails. It renews leaves when it likes, with the CA that it has at that moment,
// and replaces that CA in one write, by one with the same subject. Its leaves may outlive their CA, which ends them.
// Processes load what certrotation has taken. No client presents a leaf of a CA that a server does not trust, and no
// server one that is unknown to a client: both are Handshake, of what is presented, and TrustBeforeUse, of what is
// in a Secret and may be loaded at any moment.
//
// Mutants of the rules for pods are hunted in small worlds with few other events. The real protocol must keep the
// invariants in the same worlds.
//
// Other small worlds are for mutants, too, and part of the random search only with WORLDS=started. In some of them the
// clients are programs that read their files only at start, with evidence of the kind workloadRollout. Templates name
// contents, and start gates hold pods whose kubelet has cached older ones. What is read behind a gate may already be
// newer, and restarted containers pass no gate. trust.Restarts and registry/restart restart the workloads. Their
// controllers replace the pods one by one, late, paused, or scaled to zero meanwhile. People edit templates and remove
// gates. These invariants are added:
//
//   - EvidenceIsTrue: a process has read what is recorded of it;
//   - OneWorkload: no two workloads of a party restart at once;
//   - RestartedForNothing: no workload restarts if its pods are known to have read everything.
//
// In others kube-apiservers verify the servers by the caBundles of a webhook configuration. The injector is late, each
// kube-apiserver sees each change at any time within the promised delay, and people edit a caBundle by hand.
//
// After every event, and after every write of a leader, the invariants of docs/protocol.md are checked. crypto/x509
// judges handshakes with the anchors that a process has loaded, not the model. What a process verifies and presents
// does not change with the configuration.
//
// There are three engines. rapid rolls the dice, and shrinks a failure to a short story. A plain random number
// generator measures how soon a mutant is found. The explorer tries everything that can happen in a small world, state
// by state.
//
// The world keeps what the operator promises, as no rotation is possible without it:
//
//   - a process of the kinds gracePeriod and renewed loads promiseKept before its delay ends, also if all clocks jump;
//   - a process of the kind acknowledgement reports before it takes traffic, with a new instance at each start, and
//     again before its lease ends. One that cannot report for a lease ends;
//   - probes of an address with several processes meet each of them;
//   - a process or cluster that comes back from a backup can handshake with what is live at that moment. It does not
//     come back in the seconds between the observation that confirms a step and the write of the step;
//   - after a restore of everything, and before a leader reconciles, processes report again and load what they promise.
//     Nothing is restored while a process that must report cannot, such as one that started while clocks were ahead;
//   - the evidence of a member with two processes is not deleted, and a leaf is written by hand only after all members
//     were probed;
//   - a waived member does not run, and its waiver ends when it does. A recovered member runs on until the manifests
//     are applied;
//   - at rest the configuration is true of the processes. In flight it may say anything;
//   - a node without a Node object starts nothing before it registers again;
//   - a kubelet mounts nothing that was replaced more than ten minutes ago. It mounts nothing with which the pod would
//     refuse a live leaf, be refused, or lack the active CA. Between the observation that confirms a step and the write
//     of the step it mounts what is published. The simulation counts how often the dice wanted more;
//   - a pod whose object is gone does not run;
//   - if programs read their files only at start, no replaced content comes back (registry/podcontent). A pod without a
//     required gate starts with what its template names, or with newer content;
//   - a kube-apiserver verifies by a caBundle promiseKept before its minimum delay ends. No edit by hand makes it
//     refuse a live leaf. An edited caBundle is observed before it is corrected, as an observation does not show what
//     was lost and came back since the one before;
//   - a pod that a rotation has not recorded is not taken out of the selector, and none starts outside of it.
//
// A cache lags for ten minutes at most: whether a leaf may be issued depends on the cached time since an anchor was
// published. Clocks of leaders and processes are up to two minutes off, less than the five minutes by which
// certificates are backdated. Nothing is promised to a process whose anchors have all expired, nor of a leaf that was
// made while all clocks were ahead, until its time, or that ended within three days of a jump by decades.
//
// The API server is a separate store instead of test/apifake, with faults of the same names. The explorer forks the
// server at every state, which takes a microsecond because stored objects are shared. Caches that lag are its former
// states, kept parsed. A read and a write of a Secret through the clients of test/apifake take about 40 times as long.
//
// A world belongs to one goroutine. The queue of a controller has goroutines of its own. They do nothing, because time
// in its clock never fires, and end when the leader is replaced.
package simulation
