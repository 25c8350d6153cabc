// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/view/inventory"
)

func rolloutOf(name string) string {
	return webConfig + `
rollout:
  staticPod:
    name: ` + name + `
    nodeSelector: {matchLabels: {role: web}}
    className: etcd
`
}

func statusConfigMap(t *testing.T, name string, status *rollout.Status) *corev1.ConfigMap {
	t.Helper()
	text, err := rollout.Encode(status)
	if err != nil {
		t.Fatal(err)
	}
	cm := configMap(rollout.StatusName(name), map[string]string{rollout.StatusKey: text})
	cm.Labels[rollout.LabelStatus] = name
	return cm
}

func TestRolloutStatus(t *testing.T) {
	t.Parallel()
	status := &rollout.Status{
		LatestAvailableRevision: 3,
		Conditions:              []rollout.Condition{{Type: "StaticPodsAvailable", Status: true, Reason: "AsExpected", LastTransitionTime: testTime}},
		Blockers:                []rollout.Blocker{{Node: "n1", Reason: rollout.ReasonNodeNotReady, Message: "kubelet is silent", Since: testTime}},
	}
	edited := func(edit func(cm *corev1.ConfigMap)) *corev1.ConfigMap {
		cm := statusConfigMap(t, "web", status)
		edit(cm)
		return cm
	}
	tests := []struct {
		name    string
		stored  *corev1.ConfigMap
		want    *rollout.Status
		problem string
	}{
		{name: "nothing written yet"},
		{name: "as written", stored: statusConfigMap(t, "web", status), want: status},
		{name: "of another rollout", stored: statusConfigMap(t, "other", status)},
		{name: "without the label", stored: edited(func(cm *corev1.ConfigMap) { delete(cm.Labels, rollout.LabelStatus) })},
		{
			name:    "with the label of another rollout",
			stored:  edited(func(cm *corev1.ConfigMap) { cm.Labels[rollout.LabelStatus] = "other" }),
			problem: `must be in ConfigMap "other-rollout"`,
		},
		{name: "empty", stored: edited(func(cm *corev1.ConfigMap) { cm.Data = nil }), problem: "it is no JSON object"},
		{
			name:    "broken",
			stored:  edited(func(cm *corev1.ConfigMap) { cm.Data[rollout.StatusKey] = `{"conditions": 7}` }),
			problem: "malformed status of a rollout",
		},
		{
			name: "too large",
			stored: edited(func(cm *corev1.ConfigMap) {
				cm.Data[rollout.StatusKey] = "{" + strings.Repeat(" ", 600<<10) + "}"
			}),
			problem: "the limit is 524288",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			objects := []any{configuration("config", rolloutOf("web")), node("n1", "10.0.0.1")}
			if tt.stored != nil {
				objects = append(objects, tt.stored)
			}
			n := inventory.Build(sources(t, objects...))
			if len(n.Rollouts) != 1 || len(n.Problems) != 0 {
				t.Fatalf("%d rollouts, problems %v", len(n.Rollouts), n.Problems)
			}
			got := n.Rollouts[0]
			if diff := cmp.Diff(tt.want, got.Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if text := describe(got.Problem); (tt.problem == "") != (text == "") || !strings.Contains(text, tt.problem) {
				t.Errorf("problem %q, want %q", text, tt.problem)
			} else if text != "" && !strings.HasPrefix(text, "ConfigMap/web-rollout InvalidRolloutStatus: ") {
				t.Errorf("problem %q is about something else", text)
			}
			if diff := cmp.Diff([]string{"web"}, got.Domains); diff != "" {
				t.Errorf("domains (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOneRolloutInANamespace(t *testing.T) {
	t.Parallel()
	disjointRollout := strings.Replace(disjointConfig("db"), "\naggregate:", rolloutOf("db")[len(webConfig):]+"aggregate:", 1)
	tests := []struct {
		name           string
		older, younger string
		want           string
	}{
		{name: "one with a rollout, one without", older: rolloutOf("web"), younger: disjointConfig("db")},
		{
			name: "two rollouts", older: rolloutOf("web"), younger: disjointRollout,
			want: "RotationConfiguration/aa ConflictingClaim: nothing of it takes effect, because others have what it claims: the rollout of the namespace, " +
				"web of RotationConfiguration/zz, which numbers ConfigMap/revision-status-N (another rollout needs another namespace); use other names in one of them",
		},
		{
			name: "the younger one has a bundle where the older one has the status", older: rolloutOf("web"),
			younger: strings.ReplaceAll(disjointConfig("db"), "db-bundle", "web-rollout"),
			want:    "ConfigMap/web-rollout, the status of the rollout of RotationConfiguration/zz",
		},
		{
			name: "the older one has a bundle where the younger one has the status", older: strings.ReplaceAll(webConfig, "web-bundle", "db-rollout"),
			younger: disjointRollout, want: "ConfigMap/db-rollout of RotationConfiguration/zz",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			older, younger := configuration("zz", tt.older), configuration("aa", tt.younger)
			younger.CreationTimestamp = metav1.NewTime(testTime.Add(time.Second))
			n := inventory.Build(sources(t, older, younger))
			got := ""
			for i := range n.Problems {
				got += describe(&n.Problems[i])
			}
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("problems %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStatusIsNoBundle(t *testing.T) {
	t.Parallel()
	n := inventory.Build(sources(t, configuration("config", strings.ReplaceAll(rolloutOf("web"), "web-bundle", "web-rollout"))))
	if len(n.Problems) != 1 || !strings.Contains(n.Problems[0].Message, "ConfigMap/web-rollout is claimed, but the rollout keeps its status there") {
		t.Errorf("problems %v", n.Problems)
	}
}
