// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package orphan decides what may be deleted of the objects that nodes leave behind: the Secrets of their leaves, the
// evidence records of members that no longer exist, and the records of waivers that have ended. It is pure;
// controller/cleaner executes its decisions.
//
// A Secret is cleaned up only if everything of this holds:
//
//   - its whole name is that of a leaf for each node, for a node that no selector chooses now. Never an ending: the node
//     x protects nothing of a node a-x. Where a name could belong to two nodes, such as x and metrics-x under two
//     templates, it stays while either of them is there;
//   - certrotation or library-go made it (label auth.openshift.io/managed-certificate-type=target), and it holds a leaf
//     of the trust domain that the template is in;
//   - the annotation openshift.io/ceo-delete-grace-start, which is set when the node is first missed and taken off when
//     it comes back, is 72 hours old. It is cluster-etcd-operator's, so that either may begin and the other finish;
//   - no rotation of that trust domain is in flight, no member presents the leaf, no member of the roster that may present it
//     is still to be proven gone, and the clock is to be trusted;
//   - the selector of the template still chooses some node. One that chooses none is more likely a mistake.
//
// Nothing at all is decided while any configuration of the namespace is refused: what it claims is not known then.
package orphan
