// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package heldport reserves ports for servers that a test starts later and whose address others have to know before: the peers
// of an etcd, the clients of a kube-apiserver. A port that is only looked for may be taken by anybody before the server listens.
//
// The reservation is a socket that is bound with SO_REUSEPORT and does not listen. The kernel gives its port to nobody, and
// lets those listen there who set the option too and run as the same user: etcd with --socket-reuse-port, kube-apiserver with
// --permit-port-sharing, and a listener with Share.
package heldport
