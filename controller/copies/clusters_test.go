// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// farWrites are the first writes in each cluster.
var farWrites = []string{"create configmaps demo/web-bundle", "create secrets demo/client"}

// TestBundleBeforeLeaf: although the configuration names the leaf first, a cluster gets the bundle before.
func TestBundleBeforeLeaf(t *testing.T) {
	w, c, east, west := farWorld(t)
	w.reconcile(c)
	if diff := cmp.Diff(farWrites[:1], east.wrote); diff != "" {
		t.Errorf("first writes (-want +got):\n%s", diff)
	}
	w.clock.Step(patience)
	w.settle(c)
	for _, f := range []*far{east, west} {
		if diff := cmp.Diff(farWrites, f.wrote); diff != "" || !f.follows(w) {
			t.Errorf("%s: writes (-want +got):\n%s", f.name, diff)
		}
	}
	copied := east.secret(home, "client")
	if copied.Labels[trust.LabelRemoteCopyOf] != "demo.web-client" || copied.Labels[trust.LabelCopyOf] != "" ||
		copied.Annotations[trust.AnnotationConfiguration] != "" {
		t.Errorf("labels %v, annotations %v: a certrotation there would take it for its own", copied.Labels, copied.Annotations)
	}
	east.api.ForgetActions()
	w.settle(c)
	if n := len(east.api.Actions()); n > 0 {
		t.Errorf("%d requests at rest", n)
	}
}

// TestLeafWaitsForTheBundle: a cluster whose bundle cannot be written keeps its leaf.
func TestLeafWaitsForTheBundle(t *testing.T) {
	w, c, east, west := farWorld(t)
	east.agree(home, "demo/Secret/client")
	for range 3 {
		w.settle(c)
		w.clock.Step(patience)
	}
	if len(east.wrote) > 0 || !west.follows(w) {
		t.Errorf("east %v, west %v", east.wrote, west.wrote)
	}
	if w.said("ConfigMap/web-bundle in namespace demo of cluster east: is not known to hold") != 1 ||
		w.said("namespace demo of cluster east does not accept ConfigMap/web-bundle from namespace demo") != 1 {
		t.Errorf("events %q", w.events)
	}
	east.agree(home, accepting)
	w.settle(c)
	if !east.follows(w) || w.said("CopyResumed") != 2 {
		t.Errorf("events %q", w.events)
	}
}

// TestFarCopiesFollowARotation checks after every step that a client in another cluster verifies the servers, and is
// verified by them.
func TestFarCopiesFollowARotation(t *testing.T) {
	w, c, east, _ := farWorld(t)
	w.settle(c)
	old := w.domain().Signer.Active
	w.request()
	for range 60 {
		before := w.api.Version()
		if err := w.rotation.Reconcile(w.ctx(), home, "web"); err != nil && !strings.Contains(err.Error(), "not proposed") {
			t.Fatal(err)
		}
		w.reconcile(c)
		held := anchorsOf(east.configMap(home, bundle)).Certificates
		pair, err := pki.ParseChain(east.secret(home, "client").Data[inventory.ActiveCertKey])
		if err != nil {
			t.Fatal(err)
		}
		for name, leaf := range map[string]*pki.Certificate{"client": pair[0], "server": w.domain().Leaf("web-server").Certificate} {
			if !slices.ContainsFunc(held, leaf.SignedBy) {
				t.Fatalf("the %s does not verify under the copied bundle in the stage %s", name, w.stage())
			}
		}
		if w.api.Version() == before {
			w.acknowledge()
		}
		w.clock.Step(time.Second)
	}
	if w.stage() != trust.Stable || w.domain().Signer.Active.Equal(old) || !east.follows(w) {
		t.Errorf("stage %s", w.stage())
	}
}

// TestSilentCluster: it is named, the other one gets its copies, and it gets them when it answers again.
func TestSilentCluster(t *testing.T) {
	w, c, east, west := farWorld(t)
	east.setDown(true)
	for range 3 {
		w.settle(c)
		w.clock.Step(patience)
	}
	const silent = "cluster east does not answer since 2026-05-01T"
	if !west.follows(w) || w.said("copy demo/client of cluster east: "+silent) != 1 || w.said(silent) != 2 || w.said("west") > 0 {
		t.Errorf("west follows: %t, events %q", west.follows(w), w.events)
	}
	if c.memory.held()[home] != 2 || c.clusters.Silent()[home] != 1 {
		t.Errorf("%v copies are held, %v clusters are silent", c.memory.held(), c.clusters.Silent())
	}
	east.setDown(false)
	w.clock.Step(5 * time.Minute)
	w.settle(c)
	if !east.follows(w) || w.said("CopyResumed") != 2 || c.memory.held()[home] != 0 || c.clusters.Silent()[home] != 0 {
		t.Errorf("events %q", w.events)
	}
}

func TestFarCopiesAreUndone(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(w *world, east *far)
		// gone are the writes there once the resync is due.
		want []string
	}{
		{"an edit of the bundle", func(_ *world, east *far) {
			cm := east.configMap(home, bundle)
			cm.Data[inventory.BundleKey] = ""
			east.put(home, cm)
		}, []string{"update configmaps demo/web-bundle"}},
		{"a deletion of the leaf", func(_ *world, east *far) { east.remove(home, east.secret(home, "client")) }, []string{"create secrets demo/client"}},
		{"a withdrawn consent", func(_ *world, east *far) { east.agree(home, "") },
			[]string{"delete configmaps demo/web-bundle", "delete secrets demo/client"}},
		{"the configuration has none any more", func(w *world, _ *far) {
			w.put(home, configuration(w.t, withoutCopies+"  clusters: [{name: east, kubeconfigSecretName: east-kubeconfig}]\n"))
		}, []string{"delete configmaps demo/web-bundle", "delete secrets demo/client"}},
		{"the configuration has no clusters any more", func(w *world, _ *far) { w.put(home, configuration(w.t, withoutCopies)) },
			[]string{"delete configmaps demo/web-bundle", "delete secrets demo/client"}},
		{"the configuration is deleted", func(w *world, _ *far) { w.remove(home, configuration(w.t, farConfig)) },
			[]string{"delete configmaps demo/web-bundle", "delete secrets demo/client"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, c, east, _ := farWorld(t)
			w.settle(c)
			east.wrote = nil
			tc.change(w, east)
			w.clock.Step(resync + resync/4)
			w.settle(c)
			slices.Sort(east.wrote)
			if diff := cmp.Diff(tc.want, east.wrote); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestObjectsOfOthersStay: an object that is no copy from here is not overwritten.
func TestObjectsOfOthersStay(t *testing.T) {
	w, c, east, _ := farWorld(t)
	east.put(home, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: bundle, Labels: map[string]string{trust.LabelCopyOf: "demo.web-bundle"},
		Annotations: map[string]string{trust.AnnotationCopyOf: "demo/web-bundle"}}})
	for range 3 {
		w.settle(c)
		w.clock.Step(patience)
	}
	if len(east.wrote) > 0 || w.said("ConfigMap/web-bundle in namespace demo of cluster east was there before and is not overwritten") != 1 {
		t.Errorf("writes %v, events %q", east.wrote, w.events)
	}
}

// TestKubeconfigChanges: a kubeconfig that is refused is named, and a better one is used at once. Nothing tells what it
// has.
func TestKubeconfigChanges(t *testing.T) {
	w, c, east, west := farWorld(t)
	var logged bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&logged), textlogger.Verbosity(8)))
	w.put(home, east.kubeconfig(func(user *clientcmdapi.AuthInfo) { user.TokenFile = "/var/run/secrets/" + token }))
	var errs []string
	for range 3 {
		errs = append(errs, fmt.Sprint(c.Reconcile(klog.NewContext(w.ctx(), logger), home)))
		w.clock.Step(patience)
	}
	if w.said("the kubeconfig of Secret/east-kubeconfig has the field tokenFile, which is not accepted") == 0 || !west.follows(w) {
		t.Errorf("events %q", w.events)
	}
	w.put(home, east.kubeconfig(nil))
	w.settle(c)
	if !east.follows(w) {
		t.Errorf("events %q", w.events)
	}
	// The same name leads to another cluster: the leaf waits for the bundle there, too.
	moved := w.cluster("east")
	for range 3 {
		errs = append(errs, fmt.Sprint(c.Reconcile(klog.NewContext(w.ctx(), logger), home)))
	}
	if diff := cmp.Diff(farWrites, moved.wrote); diff != "" || !moved.follows(w) {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	for _, text := range append(append(errs, w.events...), logged.String()) {
		if strings.Contains(text, token) || strings.Contains(text, "127.0.0.1") {
			t.Errorf("a text has what the kubeconfig has: %s", text)
		}
	}
}

// TestEveryFarWriteFails makes each write of the first copies fail once with each fault.
func TestEveryFarWriteFails(t *testing.T) {
	for _, fault := range []apifake.Fault{apifake.Forbidden, apifake.Conflict, apifake.AlreadyExists} {
		t.Run(string(fault), func(t *testing.T) {
			for n := range farWrites {
				w, c, east, _ := farWorld(t)
				seen := 0
				east.befalls(fault, func(string) bool {
					seen++
					return seen == n+1
				})
				failed := false
				for range 4 {
					failed = c.Reconcile(w.ctx(), home) != nil || failed
				}
				if !failed || !east.follows(w) {
					t.Errorf("failed %t, follows %t after the failure of write %d", failed, east.follows(w), n+1)
				}
			}
		})
	}
}
