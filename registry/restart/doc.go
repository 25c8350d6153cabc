// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restart decides how to restart a workload whose pods do not reload: whether its template may be written
// now, what to wait for, and when an operator must act. registry/trust decides that a workload is due;
// controller/rollout/workload executes the verdicts. All functions are pure.
//
// A restart changes annotations of the pod template and nothing else. The controllers of Kubernetes replace the pods,
// by the strategy, maxUnavailable and minReadySeconds of the workload's owner.
//
// Invariants:
//
//   - Only a workload that consents is written, by the annotation that Secrets and ConfigMaps have too. A workload
//     that another controller writes is never written: that controller would revert the change.
//   - No restart begins while the workload rolls out another template or misses a pod, because a restart takes one
//     more away. The exception is a pod that waits at its start gate forever: then the template is written at once. A
//     pod whose content is superseded (registry/contenthash) starts by itself.
//   - A StatefulSet may replace nothing while a pod is not ready. Once the template is written, a pod that has not
//     started with a former content must not block it: nothing runs in it, so it is deleted.
//   - Choices of an operator stay: a pause, a partition, OnDelete, a number of replicas, a failed rollout. The
//     verdict names each, with the next step.
//   - If the pods of a StatefulSet are the members of an etcd cluster, only certrotation replaces them: it must be
//     OnDelete. A pod is evicted only when all members replaced before are available and take part again, and
//     registry/quorum permits it. A broken member comes first.
//   - A workload is done when every living pod was made of a template with the content, and as many are available as
//     wanted. A terminating pod still lives.
package restart
