// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package orphan decides which leftover objects may be deleted: the leaf Secrets of removed nodes, the evidence
// records of removed members, and the records of ended waivers. It is pure; controller/cleaner executes its
// decisions.
//
// A Secret is deleted only if all of this holds:
//
//   - its whole name is the one that a per-node template makes for a node that no selector chooses now. A suffix
//     never counts: node x does not protect a Secret of node a-x. Where a name fits two nodes, such as x and
//     metrics-x under two templates, it stays while either exists;
//   - certrotation or library-go made it (label auth.openshift.io/managed-certificate-type=target), and it holds a
//     leaf of the template's trust domain;
//   - its annotation openshift.io/ceo-delete-grace-start is 72 hours old. It is set when the node is first missing
//     and removed when the node is back. cluster-etcd-operator uses the same annotation, so either may begin and the
//     other finish;
//   - no rotation of that trust domain is in flight, and the clock is reliable;
//   - no member presents the leaf, and every missing roster member that may present it is proven gone;
//   - the selector of the template still chooses some node. A selector that chooses none is more likely a mistake.
//
// While any configuration of the namespace is refused, nothing is decided: its claims are unknown.
package orphan
