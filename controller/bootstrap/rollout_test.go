// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/rollout/staticpod"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/view/inventory"
)

// unasked is a quorum checker that fails the test when called: nothing restarts.
type unasked struct{ t *testing.T }

func (u unasked) Check(context.Context, string, string, *configv1alpha1.Quorum, []*inventory.Node) (quorum.Observation, error) {
	u.t.Error("the quorum is asked, as before a restart")
	return quorum.Observation{}, nil
}

// mirror returns the mirror pod of a node's manifest.
func mirror(t *testing.T, node *Node) *corev1.Pod {
	t.Helper()
	manifest, err := nodepod.RenderManifest(node.Content.PodTemplate, nodepod.Values{
		Revision: node.Revision, NodeName: node.Name, NodeIP: node.Address, RestartHash: node.RestartHash,
		Directory: node.ResourceDirectory + "/" + nodepod.DirectoryName(node.Rollout, node.Revision),
		Permitted: node.Permitted,
	})
	if err != nil {
		t.Fatal(err)
	}
	pod, err := nodepod.ParsePod(manifest)
	if err != nil {
		t.Fatal(err)
	}
	pod.Name += "-" + node.Name
	pod.Spec.NodeName = node.Name
	pod.Annotations["kubernetes.io/config.source"], pod.Annotations["kubernetes.io/config.mirror"] = "file", "x"
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(testNow())}}
	return pod
}

// running is a cluster made from the result: its objects, nodes with kubelets, and mirror pods.
func running(t *testing.T, data []byte, result *Result) *API {
	t.Helper()
	in := parsed(t, append(joined(result), nodesOf(t, data)...))
	for _, node := range of[*corev1.Node](in) {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	objects := in.known
	for i := range result.Nodes {
		objects = append(objects, mirror(t, &result.Nodes[i]))
	}
	api, err := NewAPI(testNow(), objects...)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// TestAdoptionByTheRollout runs the controller of the static pods on a cluster made from the result. Its installer
// pods find revision 1 on every node; cmd/certrotation/app/render tests that for the disks. It cuts no revision,
// restarts nothing and changes no content.
func TestAdoptionByTheRollout(t *testing.T) {
	data := sample(t)
	result := rendered(t, data)
	api := running(t, data, result)
	before := contents(t, api)
	_, ctx := ktesting.NewTestContext(t)
	clk := testingclock.NewFakeClock(testNow())
	controller, err := staticpod.New(staticpod.Config{Client: api.client, Inventory: api, Quorum: unasked{t}, Recorder: silent{}, Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if _, err := controller.Reconcile(ctx, sampleNamespace); err != nil {
			t.Fatal(err)
		}
		succeed(t, api)
		clk.Step(10 * time.Second)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	controller.Run(ended)

	// The controller may write its status, the nodes that have the revision, and what the installers mount.
	own := []string{"configmaps/" + rollout.StatusName("etcd"), "configmaps/" + nodepod.StatusName(first), "serviceaccounts/installer-sa"}
	for i := range result.Nodes {
		own = append(own, "secrets/"+nodepod.NodeCopyName("etcd-all-certs", first, result.Nodes[i].Name))
	}
	installers := 0
	for _, write := range api.writes {
		_, object, _ := strings.Cut(write, " ")
		switch {
		case strings.HasPrefix(write, "create pods/installer-1-"):
			installers++
		case !slices.Contains(own, object):
			t.Errorf("the controller writes: %s", write)
		}
	}
	if installers != len(result.Nodes) {
		t.Errorf("%d installer pods, want one for each of %d nodes", installers, len(result.Nodes))
	}
	after := contents(t, api)
	for name, data := range before {
		if after[name] != data {
			t.Errorf("the content of %s has changed", name)
		}
	}
	status, err := api.client.CoreV1().ConfigMaps(sampleNamespace).Get(ctx, nodepod.StatusName(first), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range result.Nodes {
		if status.Annotations[nodepod.InstalledAnnotation(node.Name)] == "" {
			t.Errorf("revision 1 is not known to be on %s: %v", node.Name, status.Annotations)
		}
	}
}

// succeed ends the installer pods successfully.
func succeed(t *testing.T, api *API) {
	t.Helper()
	pods, err := api.client.CoreV1().Pods(sampleNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !strings.HasPrefix(pod.Name, "installer-") || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		if pod.Annotations["certrotation.dev/restarts"] == "true" {
			t.Errorf("%s is meant to restart the static pod", pod.Name)
		}
		pod.Status.Phase = corev1.PodSucceeded
		api.put(corev1.SchemeGroupVersion.WithKind("Pod"), pod)
	}
}

// contents returns hashes of all Secrets and ConfigMaps.
func contents(t *testing.T, api *API) map[string]string {
	t.Helper()
	secrets, configMaps := list[*corev1.Secret](api, sampleNamespace), list[*corev1.ConfigMap](api, sampleNamespace)
	out := map[string]string{}
	for i := range secrets {
		out["secrets/"+secrets[i].Name] = nodepod.Content{Secrets: map[string]map[string][]byte{"x": secrets[i].Data}}.ContentHash()
	}
	for i := range configMaps {
		out["configmaps/"+configMaps[i].Name] = nodepod.Content{ConfigMaps: map[string]map[string][]byte{"x": valuesOf(configMaps[i])}}.ContentHash()
	}
	return out
}
