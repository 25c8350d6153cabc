// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs the kube-apiservers of this machine like a careful operator, while the certificates of
// their own etcd rotate. It is the client of etcd that is a relying party of the rotation.
//
// It is not part of the product. The product claims that etcd's trust rotates without a failed request, which cannot
// be shown without such an operator. Every relying party of a rotation has to load new trust and to acknowledge it.
// kube-apiserver does neither by itself; OpenShift, Gardener and others each have an operator for it. Without one the
// rotation is held. A plain restart of a kube-apiserver fails requests, which a test would count against etcd. So
// this is the smallest such operator, with the balancer that every cluster has in front of its kube-apiservers.
//
// Package test/cluster/stacked starts it (bin/apiserver-supervisor) for the tests on real nodes (test/e2e/etcd,
// test/e2e/recovery) and for `make up SAMPLE=etcd`. docs/mistakes.md names its TestRotation for a mistake of
// other systems. It has its own tests, because a fault in it would look like a fault of the product.
//
// What kube-apiserver (v1.37) does with its etcd material, and what follows:
//
//   - It reads the client pair (--etcd-certfile, --etcd-keyfile) at each handshake
//     (go.etcd.io/etcd/client/pkg/v3/transport, TLSInfo.ClientConfig sets GetClientCertificate). So a new leaf is one
//     pointer that moves: certificate and key are in one directory that never changes. The flags name them through a
//     symbolic link.
//   - It reads the trust (--etcd-cafile) whenever it makes an etcd client (k8s.io/apiserver storagebackend/factory,
//     newETCD3Client). It does so at the start, once for each resource, and later for each new custom resource. If
//     the file changed under a running process, some clients would trust the new content and others the old. So the
//     flag names a file that never changes, one for each trust, and new trust needs a restart. The command line of a
//     process says what it has loaded. Its /readyz, which includes etcd, proves it.
//
// The rules of the rollout ([Supervisor.Run]; decide.go has them in one pure function):
//
//   - One API server at a time. A ready server is taken out of the balancer and stopped only while another one is
//     ready. Every server that was restarted before must be ready again. A server that is not ready goes first.
//   - Nothing restarts unless the set of anchors changed; the order and the text of the bundle do not count.
//   - New trust is loaded before a new leaf is presented. Servers that do not get ready do not block a leaf: they may
//     need it.
//   - What is loaded stays if the bundle has no anchors, the pair does not match, everything has expired, or an object
//     is deleted.
//   - A server that dies restarts with the trust that it had. So do all servers when the supervisor restarts, unless
//     the seed directory was written anew (a recovery): then the seed counts.
//   - Only what a running process has loaded is acknowledged, after it was ready once. It is acknowledged again after
//     each restart and each change.
//
// # Files (Config.Dir)
//
//	trust-ID/etcd-ca-bundle.crt              a set of anchors; never changes
//	leaf-ID/etcd-client.crt, etcd-client.key a pair; never changes
//	leaf -> leaf-ID                          the presented pair
//	NAME-trust -> trust-ID                   what the API server NAME starts with
//	seed                                     which seed was taken over
//	NAME.pid, processes/, logs/              the processes (package cluster)
//
// # Goroutines
//
// Run owns all goroutines and returns when they have ended. There is one for each API server, which alone starts and
// stops that process. One decides and one acknowledges. The rest are two informers, the control server and the
// balancer. Children die with the supervisor.
package supervisor
