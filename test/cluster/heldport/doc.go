// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package heldport reserves ports for servers that a test starts later. Others must know their address before: the
// peers of an etcd, or the clients of a kube-apiserver. A free port that is not reserved may be taken before the
// server listens.
//
// The reservation is a bound socket with SO_REUSEPORT that does not listen. The kernel then gives the port to no
// other socket. Only programs of the same user that set the option can listen there: etcd with --socket-reuse-port,
// kube-apiserver with --permit-port-sharing, and a listener with Share.
package heldport
