// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs the kube-apiservers of this machine as a careful operator would, when their own etcd is one whose
// certificates are rotated: it is the client of etcd that is a relying party of the rotation.
//
// It is no part of the product, and it is here because the claim of the product, that etcd's trust rotates with no failed
// request, cannot be shown without it. Every relying party of a rotation has to load new trust and to say so; kube-apiserver
// does neither by itself, and OpenShift, Gardener and the others each have an operator of their own for it. Without one the
// rotation would be held, rightly, and a plain restart of a kube-apiserver fails requests that a test would count against
// etcd. So this is the smallest such operator, with the balancer that every cluster has in front of its kube-apiservers.
//
// Who uses it: package test/cluster/stacked starts it (bin/apiserver-supervisor) for the tests on real nodes (test/e2e/etcd,
// test/e2e/recovery) and for make up SAMPLE=etcd; test/holes counts its TestRotation as the proof of a mistake of other systems. It has tests of
// its own because a fault of it would look like one of the product.
//
// What kube-apiserver (v1.37) does with its etcd material, and what follows:
//
//   - The client pair (--etcd-certfile, --etcd-keyfile) is read at each handshake (go.etcd.io/etcd/client/pkg/v3/transport,
//     TLSInfo.ClientConfig sets GetClientCertificate). A new leaf is therefore one pointer that moves: certificate and key
//     lie in one directory that never changes, and the flags name them through a symbolic link.
//   - The trust (--etcd-cafile) is read whenever an etcd client is made (k8s.io/apiserver storagebackend/factory, newETCD3Client):
//     at the start, once for each resource, and later for each new custom resource. If the file changed under a running
//     process, some of its clients would trust the new content and the others the old. So the flag names a file that never
//     changes, of which there is one for each trust, and new trust needs a restart. What a process has loaded is what its
//     command line says, and is proven once its /readyz, which asks etcd, is OK.
//
// The rules of the rollout ([Supervisor.Run]; decide.go holds them in one pure function):
//
//   - One API server at a time. A ready one is taken out of the balancer, and then asked to stop, only while another one is
//     ready and every one that was restarted before is ready again. One that is not ready has nothing to lose and goes first.
//   - Nothing restarts unless the set of anchors changed; the order or the text of the bundle does not count.
//   - New trust is loaded before a new leaf is presented, but a leaf is not held back by servers that do not get ready: it
//     may be what they need.
//   - A bundle without anchors, a pair that does not match, what has expired altogether, a deleted object: what is loaded
//     stays.
//   - A server that dies comes back with the trust that it had. So does everything when the supervisor starts again, unless
//     the seed directory was written anew (a recovery): then the seed counts.
//   - Only what a running, once ready process has loaded is acknowledged, and again after each restart and each change.
//
// # Files (Config.Dir)
//
//	trust-ID/etcd-ca-bundle.crt              a set of anchors; never changes
//	leaf-ID/etcd-client.crt, etcd-client.key a pair; never changes
//	leaf -> leaf-ID                          what is presented
//	NAME-trust -> trust-ID                   what the API server NAME starts with
//	seed                                     which seed was taken over
//	NAME.pid, processes/, logs/              the processes (package cluster)
//
// # Goroutines
//
// Run owns all of them and returns when they have ended: one for each API server (it alone starts and stops that process),
// one that decides, one that acknowledges, the two informers, the control server and the balancer. Children die with the
// supervisor, however it ends.
package supervisor
