// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation searches for an order of events in which a rotation cuts somebody off, and is meant to find none.
//
// A world is a namespace with one or more trust domains: processes with what they have loaded and what they present,
// an API server in memory, leaders that run the real controller (controller/rotation) over caches that lag, and people
// who edit objects. Everything that can happen is an event; a dice says which one comes next and how it goes. Some come
// between a read and a write of the controller.
//
// Members may have two processes, behind addresses of their own or behind one. Evidence is recorded as production records
// it: by process, with leases, and nothing is known that a collector or a report could not tell. Configurations are edited
// in flight, with the guard or past it; nodes lose their labels and their objects while their processes live; everything
// is restored from a backup; all clocks jump and come back; writes are refused for ever; reports are late, forged and
// replayed; Secrets are spoilt, or deleted all at once; who cannot run is waived; everything expires while the power is off,
// and is recovered offline.
//
// In one world of five (in all with WORLDS=pods) the clients, and mostly the servers, are pods: they come and go, crash,
// terminate slowly, are evicted, vanish with their nodes, lose their labels and get them back; workloads scale to zero and
// back, names are used again; selectors are edited in flight, or wrong from the beginning; informers do not show pods for a
// while, or may not list them; a container, or another pod of the same name, starts with older content and is silent; a pod
// reports for its neighbour, under its own UID or the other's, and a report arrives when the pod is gone. Mutants of the
// life of a pod are hunted in small worlds in which little but that happens, and the protocol is held to the same worlds.
//
// In small worlds, in which mutants are hunted and to which the protocol is held, and which are no part of the random search yet,
// the clients are programs that read their files only when they start, and are known by that (workloadRollout): templates name contents, start gates hold pods whose kubelet has cached something older, what is read
// behind a gate may already be newer, and containers that start again pass no gate. Workloads are restarted by trust.Restarts and
// registry/restart, and their controllers replace the pods one by one, late, paused, or scaled to zero meanwhile; people edit
// templates, and take gates away. What is recorded of a process is compared with what it has read (EvidenceIsTrue); no two workloads
// of a party are restarted at once (OneWorkload), and none whose pods are known to have all of it (RestartedForNothing). Or
// kube-apiservers verify the servers by the caBundles of a webhook configuration: the injector is late, each kube-apiserver sees each
// change when it likes within the time that was promised, and people edit a caBundle by hand.
//
// After every event, and after every write of a leader, the invariants of docs/protocol.md are checked. Handshakes
// are judged by crypto/x509 with the anchors that a process has loaded, not by the model. What a process verifies and
// presents is what it began with, whatever the configuration says later.
//
// There are three engines: rapid rolls the dice and shrinks what it finds to a short story; a plain random number
// generator measures how soon a broken protocol is found; and the explorer tries everything that can happen in a small
// world, state by state.
//
// What the operator promises is kept by the world, as nobody could rotate without it:
//
//   - a process of the kinds gracePeriod and renewed loads within its grace or minimum delay (less ten minutes for clocks),
//     also if its clock has jumped with all others;
//   - a process of the kind acknowledgement reports before it takes traffic, each start under an instance of its own, and
//     again before its lease ends; one that cannot report for a lease ends;
//   - the looks at an address behind which there are several processes meet each of them;
//   - whoever comes back from a backup, a process or the whole cluster, can handshake with what is live at that moment, and
//     does not come back in the seconds between the look that confirms a step and its write;
//   - after a restore of everything, who reports does so again and who is promised to load does that, before a leader looks;
//     none is made while a process runs that cannot report, such as one that started while all clocks were ahead;
//     and nobody deletes the evidence of a member with two processes, or writes a leaf by hand before everybody was looked at;
//   - a member that is waived does not run, and the waiver ends when it does; one that was recovered goes on to run until the
//     manifests are applied;
//   - what the configuration says while nothing is in flight is true of the processes. In flight it may say anything;
//   - a node whose object is gone starts nothing before it has registered again;
//   - a kubelet mounts nothing that was replaced more than ten minutes ago, and nothing with which the pod would refuse what is
//     live at its start, be refused, or not know who signs; between the look that confirms a step and its write it mounts what is
//     published. How often the dice wanted more is counted;
//   - a pod whose object is gone does not run;
//   - where programs read their files only when they start, no content comes back that was replaced (registry/podcontent); and a pod
//     for which no gate is asked for starts with what its template names, or something newer;
//   - a kube-apiserver verifies by a caBundle within its minimum delay (less ten minutes for clocks); nobody edits one by hand so that
//     what is live is refused, and one that was edited is looked at before it is put right: a look does not tell what was lost and came
//     back between two of them;
//   - a pod that a rotation has not recorded is not taken out of the selector, and none starts outside of it.
//
// A cache does not lag for longer than ten minutes: a leaf is issued on what the cache says of the time since an anchor was
// published. Clocks of leaders and processes are up to two minutes off, which the five minutes by which certificates are
// backdated cover. Of a leaf that was made while all clocks were ahead nothing is promised until they are there again.
//
// The API server is a store of its own and not test/apifake, whose faults it has under the same names: the explorer forks the
// server at every state, which here costs a microsecond because what is stored is shared, and caches that lag are former states
// of it, kept parsed. A read and a write of a Secret through the clients of test/apifake take about 40 times as long.
//
// A world belongs to one goroutine. The queue of a controller has goroutines of its own, which do nothing, because time
// in its clock never fires; they end when the leader is replaced.
package simulation
