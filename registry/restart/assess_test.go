// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

type workloadCase struct {
	name  string
	o     any
	pods  []corev1.Pod
	want  State
	why   trust.Reason
	says  string
	since time.Time
}

func assessed(t *testing.T, kind trust.WorkloadKind, tests []workloadCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := Assess(due(kind), read(t, tt.o), tt.pods, nil)
			if v.State != tt.want || v.Reason != tt.why || !strings.Contains(v.Message, tt.says) || !v.Since.Equal(tt.since) {
				t.Errorf("%s %s since %v: %s\nwant %s %s since %v: %s", v.State, v.Reason, v.Since, v.Message, tt.want, tt.why, tt.since, tt.says)
			}
			if (v.Message != "") != (v.State == Wait || v.State == Hold) {
				t.Errorf("%s says %q", v.State, v.Message)
			}
			if v.State == Replace && (len(v.Pods) != 1 || v.Pods[0].Name != "web-2") {
				t.Errorf("deletes %v", v.Pods)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	d := func(edit func(*appsv1.Deployment)) *appsv1.Deployment { return with(deployment(formerHash), edit) }
	assessed(t, trust.Deployment, []workloadCase{
		{name: "it does not exist", want: Hold, why: trust.ReasonMissing, says: "take it out of workloads of relying party clients"},
		{
			name: "it is being deleted", o: d(func(d *appsv1.Deployment) { d.DeletionTimestamp = new(metav1.NewTime(noon)) }),
			want: Wait, why: trust.ReasonDeleting, says: "is being deleted", since: noon,
		},
		{
			name: "it does not consent", o: d(func(d *appsv1.Deployment) { d.Annotations = nil }),
			want: Hold, why: trust.ReasonNotAdopted, says: "kubectl annotate -n demo Deployment web certrotation.dev/configuration=mesh",
		},
		{
			name: "it consents to another configuration", o: d(func(d *appsv1.Deployment) { d.Annotations[trust.AnnotationConfiguration] = "other" }),
			want: Hold, why: trust.ReasonNotAdopted, says: "consents to RotationConfiguration/other, not to RotationConfiguration/mesh",
		},
		{
			name: "its pods are not those of the party", o: d(func(d *appsv1.Deployment) { d.Spec.Template.Labels = map[string]string{"app": "other"} }),
			want: Hold, why: ReasonNotOfParty, says: `whose selector "app=web" does not choose its pods`,
		},
		{
			name: "another controller writes it", o: d(func(d *appsv1.Deployment) {
				d.OwnerReferences = []metav1.OwnerReference{{Kind: "Etcd", Name: "main", Controller: new(true)}}
			}),
			want: Hold, why: ReasonForeignController, says: "is written by Etcd/main",
		},
		{
			name: "an owner that does not control it", o: d(func(d *appsv1.Deployment) {
				d.OwnerReferences = []metav1.OwnerReference{{Kind: "Application", Name: "shop"}}
			}),
			pods: three(trust.Deployment, formerHash), want: Write,
		},
	})
}

func TestDeployment(t *testing.T) {
	former := func(edit func(*appsv1.Deployment)) *appsv1.Deployment { return with(deployment(formerHash), edit) }
	newest := func(edit func(*appsv1.Deployment)) *appsv1.Deployment { return with(deployment(newestHash), edit) }
	as := trust.Deployment
	assessed(t, as, []workloadCase{
		{name: "due", o: deployment(formerHash), pods: three(as, formerHash), want: Write},
		{name: "due, and a pod was evicted", o: deployment(formerHash), pods: append(three(as, formerHash), pod(as, 3, formerHash, evicted)), want: Write},
		{
			name: "due, and paused", o: former(func(d *appsv1.Deployment) { d.Spec.Paused = true }), pods: three(as, formerHash),
			want: Hold, why: ReasonPaused, says: "kubectl rollout resume Deployment/web",
		},
		{
			name: "due, and changed just now", o: former(func(d *appsv1.Deployment) { d.Generation = 4 }), pods: three(as, formerHash),
			want: Wait, why: ReasonNotSeen, says: "generation 4, observed 3",
		},
		{
			name: "due, while somebody else rolls it out", o: former(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }), pods: three(as, formerHash),
			want: Wait, why: ReasonRolling, says: "1 of 3 pods have the newest template; its restart begins when that has ended", since: noon,
		},
		{
			name: "due, while a former pod is left over", o: former(func(d *appsv1.Deployment) { d.Status.Replicas = 4 }), pods: three(as, formerHash),
			want: Wait, why: ReasonRolling, since: noon,
		},
		{
			name: "due, and a rollout has failed", o: former(exceeded), pods: three(as, formerHash),
			want: Hold, why: ReasonDeadlineExceeded, says: `ReplicaSet "web-1" has timed out`, since: noon,
		},
		{
			name: "due, and a pod crashes", o: former(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }),
			pods: []corev1.Pod{pod(as, 0, formerHash), pod(as, 1, formerHash, crashing), pod(as, 2, formerHash)},
			want: Wait, why: ReasonUnavailable, says: "only 2 of 3 pods are available: pod web-1 is not ready (container program: CrashLoopBackOff)",
		},
		{
			name: "due, and scaled up just now", o: former(func(d *appsv1.Deployment) {
				d.Spec.Replicas, d.Status.Replicas, d.Status.UpdatedReplicas = new(int32(4)), 4, 4
			}), pods: append(three(as, formerHash), pod(as, 3, formerHash, unscheduled)),
			want: Wait, why: ReasonUnavailable, says: "web-3 has no node",
		},
		{
			name: "due, and a pod waits at its gate for what was replaced", o: former(func(d *appsv1.Deployment) {
				d.Status.Replicas, d.Status.UpdatedReplicas = 4, 1
				exceeded(d)
			}), pods: append(three(as, formerHash), pod(as, 3, formerHash, gated)), want: Write,
		},
		{
			name: "due, and a pod waits at its gate for what says that it was replaced", o: former(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }),
			pods: append(three(as, formerHash)[:2], pod(as, 2, supersededHash, gated)), want: Wait, why: ReasonUnavailable, says: "web-2 is not ready",
		},
		{
			name: "due, and a pod starts that names no content", o: former(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }),
			pods: append(three(as, formerHash)[:2], pod(as, 2, formerHash, gated, func(p *corev1.Pod) { p.Annotations = nil })),
			want: Wait, why: ReasonUnavailable, says: "web-2 is not ready",
		},
		{
			name: "due, and scaled to zero", o: former(func(d *appsv1.Deployment) { d.Spec.Replicas, d.Status = new(int32(0)), appsv1.DeploymentStatus{} }),
			want: Write,
		},
		{name: "done", o: deployment(newestHash), pods: three(as, newestHash), want: Done},
		{
			name: "done, scaled to zero", o: newest(func(d *appsv1.Deployment) {
				d.Spec.Replicas, d.Status = new(int32(0)), appsv1.DeploymentStatus{ObservedGeneration: 3}
			}), want: Done,
		},
		{name: "done, though a pod of the former content was evicted", o: deployment(newestHash), pods: append(three(as, newestHash), pod(as, 9, formerHash, evicted)), want: Done},
		{name: "written, and not seen", o: newest(func(d *appsv1.Deployment) { d.Generation = 4 }), pods: three(as, formerHash), want: Wait, why: ReasonNotSeen},
		{
			name: "on its way", o: newest(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }),
			pods: []corev1.Pod{pod(as, 0, newestHash), pod(as, 1, formerHash), pod(as, 2, formerHash)},
			want: Wait, why: ReasonRolling, says: "1 of 3 pods were made of the newest template, 2 are available, 2 of former ones are left", since: noon,
		},
		{
			name: "a former pod terminates", o: deployment(newestHash), pods: append(three(as, newestHash), pod(as, 3, formerHash, terminating)),
			want: Wait, why: ReasonRolling, says: "1 of former ones are left: pod web-3 is terminating", since: noon,
		},
		{
			name: "a new pod is not available for minReadySeconds", o: newest(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }),
			pods: three(as, newestHash), want: Wait, why: ReasonRolling, since: noon,
		},
		{
			name: "no pod can be made", o: newest(func(d *appsv1.Deployment) {
				d.Status.AvailableReplicas = 2
				d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: pods",
				})
			}), pods: three(as, newestHash)[:2], want: Wait, why: ReasonRolling, says: "exceeded quota: pods", since: noon,
		},
		{
			name: "paused midway", o: newest(func(d *appsv1.Deployment) { d.Spec.Paused = true }),
			pods: []corev1.Pod{pod(as, 0, newestHash), pod(as, 1, formerHash)}, want: Hold, why: ReasonPaused,
		},
		{name: "paused afterwards", o: newest(func(d *appsv1.Deployment) { d.Spec.Paused = true }), pods: three(as, newestHash), want: Done},
		{
			name: "its own rollout fails", o: newest(exceeded), pods: []corev1.Pod{pod(as, 0, newestHash, crashing), pod(as, 1, formerHash)},
			want: Hold, why: ReasonDeadlineExceeded, says: "certrotation undoes nothing", since: noon,
		},
		{
			name: "pods of somebody with the same labels", o: deployment(newestHash), pods: append(three(as, newestHash), func() corev1.Pod {
				other := pod(as, 5, formerHash)
				other.OwnerReferences = nil
				return other
			}()), want: Done,
		},
	})
}

func TestStatefulSet(t *testing.T) {
	as := trust.StatefulSet
	former := func(edit func(*appsv1.StatefulSet)) *appsv1.StatefulSet { return with(statefulSet(formerHash), edit) }
	newest := func(edit func(*appsv1.StatefulSet)) *appsv1.StatefulSet { return with(statefulSet(newestHash), edit) }
	onDelete := func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType }
	assessed(t, as, []workloadCase{
		{name: "due", o: statefulSet(formerHash), pods: three(as, formerHash), want: Write},
		{
			name: "due, with a partition", o: former(func(s *appsv1.StatefulSet) { partitioned(s, 2) }), pods: three(as, formerHash),
			want: Hold, why: ReasonPartitioned, says: "has the partition 2, which keeps web-0, web-1: set the partition to 0",
		},
		{
			name: "due, with a partition of all and ordinals that begin later", o: former(func(s *appsv1.StatefulSet) {
				partitioned(s, 9)
				s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
			}), pods: three(as, formerHash), want: Hold, why: ReasonPartitioned, says: "keeps web-5, web-6, web-7:",
		},
		{name: "due, with the partition 0", o: former(func(s *appsv1.StatefulSet) { partitioned(s, 0) }), pods: three(as, formerHash), want: Write},
		{
			name: "due, while somebody else rolls it out", o: former(func(s *appsv1.StatefulSet) { s.Status.UpdateRevision, s.Status.UpdatedReplicas = "web-b", 1 }),
			pods: three(as, formerHash), want: Wait, why: ReasonRolling,
		},
		{
			name: "due, OnDelete, with pods of several templates", o: former(func(s *appsv1.StatefulSet) {
				onDelete(s)
				s.Status.UpdateRevision, s.Status.UpdatedReplicas, s.Status.AvailableReplicas = "web-b", 1, 2
			}), pods: three(as, formerHash), want: Write,
		},
		{
			name: "written, OnDelete", o: newest(onDelete),
			pods: []corev1.Pod{pod(as, 0, formerHash), pod(as, 1, newestHash), pod(as, 2, formerHash, terminating)},
			want: Hold, why: ReasonOnDelete, says: "is updated OnDelete, and pods started before its template was changed: delete web-0",
		},
		{
			name: "written, OnDelete, and all were deleted", o: newest(onDelete),
			pods: []corev1.Pod{pod(as, 0, newestHash), pod(as, 1, formerHash, terminating)}, want: Wait, why: ReasonRolling, says: "pod web-1 is terminating",
		},
		{name: "done, OnDelete", o: newest(onDelete), pods: three(as, newestHash), want: Done},
		{
			name: "a partition that was set midway", o: newest(func(s *appsv1.StatefulSet) { partitioned(s, 1) }),
			pods: []corev1.Pod{pod(as, 0, formerHash), pod(as, 1, newestHash), pod(as, 2, newestHash)},
			want: Hold, why: ReasonPartitioned, says: "keeps web-0:",
		},
		{
			name: "a partition, and pods above it on their way", o: newest(func(s *appsv1.StatefulSet) { partitioned(s, 1) }),
			pods: []corev1.Pod{pod(as, 0, formerHash), pod(as, 1, formerHash), pod(as, 2, newestHash)}, want: Wait, why: ReasonRolling,
		},
		{
			name: "a pod of the former template is not ready", o: newest(func(s *appsv1.StatefulSet) { s.Status.AvailableReplicas = 2 }),
			pods: []corev1.Pod{pod(as, 0, formerHash), pod(as, 1, newestHash), pod(as, 2, formerHash, crashing)},
			want: Hold, why: ReasonUnreadyKept, says: "web-2 is not and was made of a former template: delete it",
		},
		{
			name: "a pod of the former template waits at its gate", o: newest(func(s *appsv1.StatefulSet) { s.Status.AvailableReplicas = 2 }),
			pods: []corev1.Pod{pod(as, 0, formerHash), pod(as, 1, newestHash), pod(as, 2, formerHash, gated)}, want: Replace,
		},
		{
			name: "a pod of the former template waits at its gate for what says that it was replaced", o: newest(func(s *appsv1.StatefulSet) { s.Status.AvailableReplicas = 2 }),
			pods: []corev1.Pod{pod(as, 0, formerHash), pod(as, 1, newestHash), pod(as, 2, supersededHash, gated)}, want: Replace,
		},
		{
			name: "due, and a pod starts with what says that it was replaced", o: former(func(s *appsv1.StatefulSet) { s.Status.AvailableReplicas = 2 }),
			pods: []corev1.Pod{pod(as, 0, formerHash), pod(as, 1, formerHash), pod(as, 2, supersededHash, gated)},
			want: Wait, why: ReasonUnavailable, says: "web-2 is not ready",
		},
		{
			name: "due, and a pod waits at its gate", o: former(func(s *appsv1.StatefulSet) { s.Status.AvailableReplicas = 2 }),
			pods: []corev1.Pod{pod(as, 0, formerHash), pod(as, 1, formerHash), pod(as, 2, formerHash, gated)}, want: Write,
		},
		{
			name: "a pod of the former template is not ready, and need not be", o: newest(func(s *appsv1.StatefulSet) {
				s.Spec.PodManagementPolicy, s.Status.AvailableReplicas = appsv1.ParallelPodManagement, 2
			}), pods: []corev1.Pod{pod(as, 0, formerHash), pod(as, 1, newestHash), pod(as, 2, formerHash, gated)}, want: Wait, why: ReasonRolling,
		},
		{
			name: "pods of another StatefulSet with the same labels", o: statefulSet(newestHash), pods: append(three(as, newestHash), func() corev1.Pod {
				other := pod(as, 5, formerHash)
				other.OwnerReferences[0].UID = "uid-other"
				return other
			}()), want: Done,
		},
		{name: "one replica where nothing is said", o: newest(func(s *appsv1.StatefulSet) { s.Spec.Replicas = nil }), pods: three(as, newestHash)[:1], want: Done},
	})
}

func TestDaemonSet(t *testing.T) {
	as := trust.DaemonSet
	former := func(edit func(*appsv1.DaemonSet)) *appsv1.DaemonSet { return with(daemonSet(formerHash), edit) }
	newest := func(edit func(*appsv1.DaemonSet)) *appsv1.DaemonSet { return with(daemonSet(newestHash), edit) }
	assessed(t, as, []workloadCase{
		{name: "due", o: daemonSet(formerHash), pods: three(as, formerHash), want: Write},
		{name: "due, without nodes", o: former(func(d *appsv1.DaemonSet) { d.Status = appsv1.DaemonSetStatus{ObservedGeneration: 3} }), want: Write},
		{
			name: "due, while somebody else rolls it out", o: former(func(d *appsv1.DaemonSet) { d.Status.UpdatedNumberScheduled = 2 }), pods: three(as, formerHash),
			want: Wait, why: ReasonRolling, says: "2 of 3 pods",
		},
		{
			name: "a node that is gone", o: newest(func(d *appsv1.DaemonSet) { d.Status.NumberAvailable = 2 }),
			pods: []corev1.Pod{pod(as, 0, newestHash), pod(as, 1, newestHash), pod(as, 2, formerHash, terminating)},
			want: Wait, why: ReasonRolling, says: "pod web-2 is terminating",
		},
		{
			name: "written, OnDelete", o: newest(func(d *appsv1.DaemonSet) { d.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType }),
			pods: three(as, formerHash), want: Hold, why: ReasonOnDelete, says: "delete web-0, web-1, web-2",
		},
		{name: "done", o: daemonSet(newestHash), pods: three(as, newestHash), want: Done},
	})
}
