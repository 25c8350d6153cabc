// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command control-plane-operator runs hosted control planes: in each namespace
// an etcd of three members and two kube-apiservers,
// and what takes the part of a node (serve-node). It keeps their secrets with controller/secrets, as Gardener does, and
// certrotation sees which pods have loaded what.
//
// A control plane is the RotationConfiguration control-plane of its namespace. Its annotation gardener.cloud/operation says
// what to rotate, and its status in which phases that is. A reconciliation generates all secrets, applies the workloads
// with their names, and goes on to the next phase when all pods are replaced and nothing is held:
//
//	annotation ──► phases ──► secrets ──► workloads ──► rolled out, nothing held ──► next phase
//	                 ▲                                                                   │
//	                 └───────────────────────────────────────────────────────────────────┘
//
// Everything is read from the cluster each time, so the operator may end at any moment. Run one replica.
//
// Goroutines: the loop over the namespaces, which ends with the command's context.
package main
