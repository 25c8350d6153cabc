// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restart has the rules by which a workload is restarted whose pods do not reload: whether its template may be
// written now, what has to be waited for, and what only a person can do. That a workload is due is decided by registry/trust;
// controller/rollout/workload executes what is decided here. The package consists of pure functions.
//
// A restart is a change of annotations of the pod template, and of nothing else. The controllers of Kubernetes replace the
// pods, by the strategy, maxUnavailable and minReadySeconds that the owner of the workload has chosen.
//
// Invariants:
//
//   - Only a workload that consents is written, by the annotation that Secrets and ConfigMaps have too, and none that another
//     controller writes: it would take the change back.
//   - Nothing is begun while the workload is on its way to another template, or a pod of it is missing: a restart takes one more.
//     Only a pod that waits at its start gate for ever has the template written at once; one whose content is superseded
//     (registry/contenthash) starts by itself. When the template is written, no pod that has not started with a content of
//     before is kept by a StatefulSet that replaces nothing while a pod is not ready: nothing runs in it, and it is deleted.
//   - What a person has chosen stays as it is: a pause, a partition, OnDelete, a number of replicas, a rollout that has failed.
//     Each is named, with what to do.
//   - Of a StatefulSet whose pods are the members of an etcd cluster nobody else replaces any: it has to be OnDelete. A pod is evicted
//     only when all that were replaced before are available and take part again, and when registry/quorum says of this member that
//     the others can do without it. One that is broken is the first.
//   - A workload is done when each pod of it that lives was made of a template with the content, and as many are available as
//     are wanted. A pod that terminates lives.
package restart
