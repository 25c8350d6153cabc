// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// installed is a world in which all nodes have the first revision.
func installed(t *testing.T, nodes int) *world {
	t.Helper()
	w := newWorld(t, testContext(t), nodes)
	t.Cleanup(w.close)
	w.wantConverged(300)
	return w
}

func (w *world) wantConverged(seconds int) {
	w.t.Helper()
	if !w.run(seconds, w.converged) {
		w.t.Fatalf("not converged after %d s; status:\n%s", seconds, w.statusText())
	}
}

func (w *world) restarts() []int {
	var out []int
	for _, m := range w.machines {
		out = append(out, m.restarts)
	}
	return out
}

func (w *world) revisions() []int {
	w.t.Helper()
	list, err := w.client.CoreV1().ConfigMaps(testNamespace).List(w.ctx, metav1.ListOptions{LabelSelector: nodepod.LabelRollout + "=etcd"})
	if err != nil {
		w.t.Fatalf("list: %v", err)
	}
	var out []int
	for i := range list.Items {
		if n, ok := nodepod.ParseStatusName(list.Items[i].Name); ok {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func TestHoldsOnADegradedCluster(t *testing.T) {
	w := installed(t, 3)
	w.machines[1].power = false
	w.changeTrust()
	w.run(60, nil)
	if got := w.restarts(); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("restarts %v on a degraded cluster", got)
	}
	if b := w.blocker("m1", rollout.ReasonNodeNotReady); b == nil || b.Overdue {
		t.Errorf("no blocker names the node, or it is overdue at once:\n%s", w.statusText())
	}
	w.run(300, nil)
	if b := w.blocker("m1", rollout.ReasonNodeNotReady); b == nil || !b.Overdue {
		t.Errorf("the blocker is not overdue:\n%s", w.statusText())
	}
	if !w.events.has(rollout.EventRolloutBlocked) || !w.events.has(rollout.EventMasterNodesReadyChanged) {
		t.Errorf("events: %v", w.events.reasons)
	}
	if c := w.condition(rollout.NodeControllerDegraded); !c.Status || !strings.Contains(c.Message, "m1") {
		t.Errorf("condition %+v", c)
	}
	w.machines[1].power = true
	w.wantConverged(300)
	if got := w.restarts(); !slices.Equal(got, []int{1, 1, 1}) {
		t.Errorf("restarts %v, want one each", got)
	}
}

func TestHoldsARevisionWithoutAQuorum(t *testing.T) {
	w := installed(t, 3)
	w.machines[1].power, w.machines[2].power = false, false
	w.changeTrust()
	w.run(60, nil)
	if got := w.revisions(); !slices.Equal(got, []int{1}) {
		t.Errorf("revisions %v were cut without a quorum", got)
	}
	if b := w.blocker("", rollout.ReasonQuorum); b == nil || b.Overdue {
		t.Errorf("no blocker says why no revision is cut, or it is overdue at once:\n%s", w.statusText())
	}
	w.run(300, nil)
	if b := w.blocker("", rollout.ReasonQuorum); b == nil || !b.Overdue {
		t.Errorf("the blocker is not overdue:\n%s", w.statusText())
	}
	if c := w.condition(rollout.RevisionControllerDegraded); !c.Status || !strings.Contains(c.Message, "healthy voters") {
		t.Errorf("condition %+v", c)
	}
	w.machines[1].power, w.machines[2].power = true, true
	w.wantConverged(300)
	if got := w.revisions(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("revisions %v, want one more", got)
	}
	if c := w.condition(rollout.RevisionControllerDegraded); c.Status {
		t.Errorf("condition %+v when the quorum is back", c)
	}
}

func TestLeavesGoAroundANodeThatIsDown(t *testing.T) {
	w := installed(t, 3)
	w.machines[0].kubelet = false
	w.run(2, nil)
	w.changeLeaves()
	w.run(30, nil)
	for _, m := range w.machines[1:] {
		if m.disk.leaf != w.serial {
			t.Errorf("%s waits for the node that is down; status:\n%s", m.name, w.statusText())
		}
	}
	w.run(120, nil)
	if c := w.condition(rollout.InstallerPodPendingDegraded); !c.Status {
		t.Errorf("condition %+v", c)
	}
	w.machines[0].kubelet = true
	w.wantConverged(300)
	if got := w.restarts(); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("leaves restarted %v", got)
	}
}

func TestRevisionThatDoesNotWork(t *testing.T) {
	w := installed(t, 3)
	w.changeTrust()
	for _, m := range w.machines {
		m.bad = w.trustChanges
	}
	w.run(400, nil)
	if got := w.restarts(); !slices.Equal(got, []int{1, 0, 0}) {
		t.Fatalf("restarts %v, want that of the first node only", got)
	}
	if c := w.condition(rollout.StaticPodsDegraded); !c.Status {
		t.Errorf("condition %+v", c)
	}
	if b := w.blocker("m0", rollout.ReasonStaticPodPending); b == nil || !b.Overdue {
		t.Errorf("no overdue blocker:\n%s", w.statusText())
	}
	w.changeTrust()
	w.wantConverged(300)
	if got := w.restarts(); !slices.Equal(got, []int{2, 1, 1}) {
		t.Errorf("restarts %v, want 2 1 1: the newer revision repairs the broken node first", got)
	}
	if c := w.condition(rollout.StaticPodsDegraded); c.Status {
		t.Errorf("condition %+v after the repair", c)
	}
}

func TestInstallerFails(t *testing.T) {
	w := installed(t, 3)
	w.changeTrust()
	for _, m := range w.machines {
		m.failures = 2
	}
	w.run(12, nil)
	if c := w.condition(rollout.NodeInstallerDegraded); !c.Status || !strings.Contains(c.Message, "the disk is full") {
		t.Errorf("condition %+v", c)
	}
	w.wantConverged(600)
	if c := w.condition(rollout.NodeInstallerDegraded); c.Status {
		t.Errorf("condition %+v after the success", c)
	}
	if got := w.restarts(); !slices.Equal(got, []int{1, 1, 1}) {
		t.Errorf("restarts %v, want one each", got)
	}
	for _, reason := range []string{rollout.EventInstallerPodFailed, rollout.EventNodeTargetRevisionChanged, rollout.EventNodeCurrentRevisionChanged} {
		if !w.events.has(reason) {
			t.Errorf("no event %s", reason)
		}
	}
	if _, err := w.client.CoreV1().Pods(testNamespace).Get(w.ctx, "installer-2-retry-2-m0", metav1.GetOptions{}); err != nil {
		t.Errorf("the third attempt has another name than cluster-etcd-operator gives it: %v", err)
	}
}

func TestInstallerDisappears(t *testing.T) {
	w := installed(t, 3)
	w.changeLeaves()
	for range 20 {
		w.run(1, nil)
		w.dropInstaller(w.machines[0])
	}
	if !w.events.has(rollout.EventInstallerPodDisappeared) {
		t.Errorf("events: %v", w.events.reasons)
	}
	w.wantConverged(300)
}

func TestReplacedNode(t *testing.T) {
	w := installed(t, 3)
	uid := w.machines[2].uid
	w.machines[2].replace()
	w.wantConverged(300)
	if n := w.status().Node("m2", string(w.machines[2].uid)); n == nil || n.CurrentRevision != 1 {
		t.Errorf("status:\n%s", w.statusText())
	}
	if w.status().Node("m2", string(uid)) != nil || !w.events.has(rollout.EventMasterNodeRemoved) {
		t.Errorf("the node before is still there, or its end was not told")
	}
}

func TestNodeJoins(t *testing.T) {
	w := installed(t, 3)
	w.changeTrust()
	w.run(6, nil)
	w.addMachine("m3")
	w.wantConverged(600)
	if got := w.restarts(); !slices.Equal(got, []int{1, 1, 1, 0}) {
		t.Errorf("restarts %v", got)
	}
}

func TestChangesThatComeTogether(t *testing.T) {
	w := installed(t, 3)
	w.changeTrust()
	w.run(1, nil)
	w.changeLeaves()
	w.run(1, nil)
	w.changeLeaves()
	w.wantConverged(300)
	if got := w.revisions(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("revisions %v, want one for all three changes", got)
	}
	// A revision is cut although the sources never come to rest.
	for range 20 {
		w.changeLeaves()
		w.run(1, nil)
	}
	if got := w.revisions(); len(got) < 3 {
		t.Errorf("revisions %v after 20 s of changes", got)
	}
}

func TestMetadataMakesNoRevision(t *testing.T) {
	w := installed(t, 1)
	cm, err := w.client.CoreV1().ConfigMaps(testNamespace).Get(w.ctx, "bundles", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cm.Annotations["a"] = "b"
	w.put(cm)
	writes := w.api.Writes()
	w.run(60, nil)
	if got := w.revisions(); !slices.Equal(got, []int{1}) || w.api.Writes() != writes {
		t.Errorf("revisions %v, %d writes", got, w.api.Writes()-writes)
	}
}

func TestRevisionIsResumed(t *testing.T) {
	for name, change := range map[string]bool{"same content": false, "other content": true} {
		t.Run(name, func(t *testing.T) {
			w := installed(t, 3)
			w.changeLeaves()
			w.run(2, nil)
			w.crashAt = w.api.Writes() + 2 // after revision-status-2 and one copy
			w.run(3, func() bool { return len(w.revisions()) == 2 })
			if change {
				w.changeTrust()
			}
			w.wantConverged(300)
			if got := w.revisions(); !slices.Equal(got, []int{1, 2}) {
				t.Errorf("revisions %v, want the number used again", got)
			}
		})
	}
}

func TestCrashAfterEachWrite(t *testing.T) {
	for at := 1; ; at++ {
		w := installed(t, 3)
		w.changeTrust()
		w.crashAt = w.api.Writes() + at
		w.wantConverged(400)
		if got := w.restarts(); !slices.Equal(got, []int{1, 1, 1}) {
			t.Errorf("crash after write %d: restarts %v, want one each", at, got)
		}
		if got := w.revisions(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("crash after write %d: revisions %v", at, got)
		}
		if w.crashAt != 0 {
			if at < 20 {
				t.Errorf("only %d writes", at)
			}
			return
		}
	}
}

func TestPrune(t *testing.T) {
	w := installed(t, 3)
	for range 14 {
		w.changeLeaves()
		w.wantConverged(120)
	}
	w.run(30, nil)
	got := w.revisions()
	if len(got) > 7 || got[0] != 1 || got[len(got)-1] != 15 {
		t.Errorf("revisions %v, want the last five and the one whose manifest runs", got)
	}
	if _, err := w.client.CoreV1().Secrets(testNamespace).Get(w.ctx, "certs-5", metav1.GetOptions{}); err == nil {
		t.Error("certs-5 is still there")
	}
	pods, err := w.client.CoreV1().Pods(testNamespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) > 3+3*len(got)+3 {
		t.Errorf("%d pods are left", len(pods.Items))
	}
}

func TestMissingStaticPod(t *testing.T) {
	w := installed(t, 3)
	w.machines[0].disk.hash, w.machines[0].runs = "", ""
	w.drop("pods", "etcd-m0")
	w.run(250, nil)
	if c := w.condition(rollout.MissingStaticPodControllerDegraded); !c.Status || !w.events.has(rollout.EventMissingStaticPod) {
		t.Errorf("condition %+v, events %v", c, w.events.reasons)
	}
}

func TestRolledBackManifest(t *testing.T) {
	w := installed(t, 3)
	before := w.machines[0].disk
	w.changeTrust()
	w.wantConverged(300)
	w.machines[0].disk = before
	w.run(30, nil)
	if b := w.blocker("m0", rollout.ReasonRolledBack); b == nil {
		t.Fatalf("nothing says that the manifest is an older one:\n%s", w.statusText())
	}
	if got := w.restarts(); !slices.Equal(got, []int{2, 1, 1}) {
		t.Errorf("restarts %v: what somebody has put back is not undone", got)
	}
	cm, err := w.client.CoreV1().ConfigMaps(testNamespace).Get(w.ctx, nodepod.StatusName(2), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(cm.Annotations, nodepod.InstalledAnnotation("m0"))
	w.drop("pods", "installer-2-m0")
	w.put(cm)
	w.wantConverged(300)
}

func TestSourcesThatCannotBeUsed(t *testing.T) {
	for name, spoil := range map[string]func(*world){
		"missing": func(w *world) { w.drop("configmaps", "bundles") },
		"a ConfigMap that does not consent": func(w *world) {
			w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bundles"}, Data: map[string]string{"ca.crt": "theirs"}})
		},
		"a Secret that consents to another configuration": func(w *world) {
			theirs := metav1.ObjectMeta{Name: "certs", Annotations: map[string]string{trust.AnnotationConfiguration: "other"}}
			w.put(&corev1.Secret{ObjectMeta: theirs, Data: map[string][]byte{"leaf": []byte("theirs")}})
		},
		"a manifest that does not consent": func(w *world) {
			w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "etcd-pod"}, Data: map[string]string{"pod.yaml": podTemplate + "\n"}})
		},
		"no template": func(w *world) {
			w.put(&corev1.ConfigMap{ObjectMeta: consenting("etcd-pod")})
		},
		"other pod": func(w *world) {
			w.put(&corev1.ConfigMap{ObjectMeta: consenting("etcd-pod"),
				Data: map[string]string{"pod.yaml": strings.ReplaceAll(podTemplate, "name: etcd, ", "name: other, ")}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := installed(t, 1)
			spoil(w)
			w.run(30, nil)
			if got := w.revisions(); !slices.Equal(got, []int{1}) {
				t.Errorf("revisions %v", got)
			}
			if c := w.condition(rollout.RevisionControllerDegraded); !c.Status {
				t.Errorf("condition %+v", c)
			}
		})
	}
}

func TestForeignCopyIsNotTouched(t *testing.T) {
	w := installed(t, 1)
	w.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "certs-2"}, Data: map[string][]byte{"mine": []byte("x")}})
	w.changeLeaves()
	for range 10 {
		if _, err := w.controller.Reconcile(w.ctx, testNamespace); err != nil && !strings.Contains(err.Error(), "is not a copy") {
			t.Fatal(err)
		}
		w.clock.Step(time.Second)
	}
	secret, err := w.client.CoreV1().Secrets(testNamespace).Get(w.ctx, "certs-2", metav1.GetOptions{})
	if err != nil || string(secret.Data["mine"]) != "x" {
		t.Errorf("the Secret of somebody else: %v, %v", secret, err)
	}
	if c := w.condition(rollout.RevisionControllerDegraded); !c.Status {
		t.Errorf("condition %+v", c)
	}
}

// TestRenderedRevision starts with the output of certrotation render: revision 1 exists and its static pods run.
func TestRenderedRevision(t *testing.T) {
	w := installed(t, 3)
	status, err := w.client.CoreV1().ConfigMaps(testNamespace).Get(w.ctx, nodepod.StatusName(1), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for key := range status.Annotations {
		if key != nodepod.AnnotationReady {
			delete(status.Annotations, key)
		}
	}
	w.put(status)
	secret, err := w.client.CoreV1().Secrets(testNamespace).Get(w.ctx, "certs-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.OwnerReferences, secret.Labels = nil, map[string]string{nodepod.LabelRollout: "etcd"}
	w.put(secret)
	w.drop("configmaps", rollout.StatusName("etcd"))
	for _, m := range w.machines {
		w.drop("pods", "installer-1-"+m.name)
	}
	w.restart()
	w.wantConverged(60)
	for range 7 {
		w.changeTrust()
		w.wantConverged(200)
	}
	w.run(30, nil)
	if got := w.restarts(); !slices.Equal(got, []int{7, 7, 7}) {
		t.Errorf("restarts %v, want none for the adoption", got)
	}
	if _, err := w.client.CoreV1().Secrets(testNamespace).Get(w.ctx, "certs-1", metav1.GetOptions{}); err == nil {
		t.Error("certs-1 was not pruned")
	}
}
