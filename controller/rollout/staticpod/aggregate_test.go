// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// aggregated is a world whose sources are an aggregate of one bundle and one leaf per node.
type aggregated struct {
	*world

	ca     *pki.Pair
	domain *trust.Domain
}

func newAggregated(t *testing.T, nodes int) *aggregated {
	t.Helper()
	w := &aggregated{world: newWorld(t, testContext(t), nodes)}
	t.Cleanup(w.close)
	var err error
	if w.ca, err = pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	w.domain = &trust.Domain{Bundle: trust.Bundle{Object: trust.Object{Name: "ca", Present: true}, Anchors: []*pki.Certificate{w.ca.Certificate}}}
	w.domains = []*trust.Domain{w.domain}
	w.aggregate = &trust.Aggregate{
		Secret: trust.Object{Name: "certs", Present: true}, ConfigMap: trust.Object{Name: "bundles", Present: true},
		Pairs: map[string]pki.Fingerprint{}, Bundles: []trust.AggregatedBundle{{Key: "ca.crt", Bundle: "ca"}},
		Anchors: map[string][]pki.Fingerprint{"ca.crt": {w.ca.Certificate.Fingerprint}},
	}
	for _, m := range w.machines {
		w.leaves[m.name] = []string{"peer-" + m.name}
		w.aggregate.Leaves = append(w.aggregate.Leaves, "peer-"+m.name)
	}
	w.issue()
	return w
}

// issue makes new leaves and updates the inventory.
func (w *aggregated) issue() {
	w.t.Helper()
	w.domain.Leaves = nil
	data := map[string][]byte{}
	for _, name := range w.aggregate.Leaves {
		pair, err := w.ca.Issue(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: time.Hour, Usages: []pki.Usage{pki.ClientAuth}}, w.clock.Now())
		if err != nil {
			w.t.Fatalf("issue: %v", err)
		}
		key, err := pair.KeyPEM()
		if err != nil {
			w.t.Fatalf("encode: %v", err)
		}
		data[name+".crt"], data[name+".key"] = pair.CertPEM(), key
		w.aggregate.Pairs[name] = pair.Certificate.Fingerprint
		w.domain.Leaves = append(w.domain.Leaves, trust.Leaf{Object: trust.Object{Name: name, Present: true}, Certificate: pair.Certificate})
	}
	w.put(&corev1.Secret{ObjectMeta: consenting("certs"), Data: data})
	w.put(&corev1.ConfigMap{ObjectMeta: consenting("bundles"), Data: map[string]string{"ca.crt": string(pki.EncodeCertificates(w.ca.Certificate))}})
	w.known()
}

// known updates the inventory to the stored objects.
func (w *aggregated) known() {
	secret, err := w.client.CoreV1().Secrets(testNamespace).Get(w.ctx, "certs", metav1.GetOptions{})
	if err != nil {
		w.t.Fatalf("get: %v", err)
	}
	configMap, err := w.client.CoreV1().ConfigMaps(testNamespace).Get(w.ctx, "bundles", metav1.GetOptions{})
	if err != nil {
		w.t.Fatalf("get: %v", err)
	}
	w.aggregate.Secret.ResourceVersion, w.aggregate.ConfigMap.ResourceVersion = secret.ResourceVersion, configMap.ResourceVersion
}

func TestRevisionWaitsForTheAggregate(t *testing.T) {
	for name, c := range map[string]struct{ spoil, mend func(*aggregated) }{
		"a leaf is newer than the aggregate": {
			spoil: func(w *aggregated) { w.aggregate.Pairs["peer-m0"] = "older" },
			mend:  func(w *aggregated) { w.aggregate.Pairs["peer-m0"] = w.domain.Leaves[0].Certificate.Fingerprint },
		},
		"the bundle is newer than the aggregate": {
			spoil: func(w *aggregated) { w.aggregate.Anchors["ca.crt"] = nil },
			mend:  func(w *aggregated) { w.aggregate.Anchors["ca.crt"] = []pki.Fingerprint{w.ca.Certificate.Fingerprint} },
		},
		"the aggregate is newer than the cache": {
			spoil: func(w *aggregated) { w.aggregate.Secret.ResourceVersion = "1" },
			mend:  func(w *aggregated) { w.known() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAggregated(t, 3)
			c.spoil(w)
			w.run(60, nil)
			if got := w.revisions(); len(got) != 0 {
				t.Errorf("revisions %v of sources that do not agree", got)
			}
			if b := w.blocker("", rollout.ReasonSourceChanging); b == nil || !b.Overdue {
				t.Errorf("nothing says so:\n%s", w.statusText())
			}
			if condition := w.condition(rollout.RevisionControllerDegraded); !condition.Status {
				t.Errorf("condition %+v", condition)
			}
			c.mend(w)
			w.run(10, nil)
			if got := w.revisions(); !slices.Equal(got, []int{1}) {
				t.Errorf("revisions %v", got)
			}
		})
	}
}

func TestNothingUnusableIsRevisioned(t *testing.T) {
	for name, spoil := range map[string]func(*aggregated){
		"empty bundle": func(w *aggregated) {
			w.put(&corev1.ConfigMap{ObjectMeta: consenting("bundles"), Data: map[string]string{"ca.crt": ""}})
		},
		"key of another certificate": func(w *aggregated) {
			secret, err := w.client.CoreV1().Secrets(testNamespace).Get(w.ctx, "certs", metav1.GetOptions{})
			if err != nil {
				w.t.Fatalf("get: %v", err)
			}
			secret = secret.DeepCopy()
			secret.Data["peer-m0.key"] = secret.Data["peer-m1.key"]
			w.put(secret)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAggregated(t, 3)
			spoil(w)
			w.known()
			w.run(30, nil)
			if got := w.revisions(); len(got) != 0 {
				t.Errorf("revisions %v", got)
			}
			if condition := w.condition(rollout.RevisionControllerDegraded); !condition.Status {
				t.Errorf("condition %+v", condition)
			}
		})
	}
}

func TestInstallerGetsThePairsOfItsNodeOnly(t *testing.T) {
	w := newAggregated(t, 3)
	var pods []*corev1.Pod
	w.onInstall = func(pod *corev1.Pod) { pods = append(pods, pod) }
	w.run(20, nil)
	if len(pods) == 0 {
		t.Fatal("no installer")
	}
	for _, pod := range pods {
		var keys []string
		for _, volume := range pod.Spec.Volumes {
			if volume.Secret == nil {
				continue
			}
			if volume.Secret.SecretName != nodepod.NodeCopyName("certs", 1, pod.Spec.NodeName) || len(volume.Secret.Items) > 0 {
				t.Errorf("%s mounts the Secret %+v", pod.Name, volume.Secret)
			}
			secret, err := w.client.CoreV1().Secrets(testNamespace).Get(w.ctx, volume.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			keys = slices.Sorted(maps.Keys(secret.Data))
		}
		if want := []string{"peer-" + pod.Spec.NodeName + ".crt", "peer-" + pod.Spec.NodeName + ".key"}; !slices.Equal(keys, want) {
			t.Errorf("%s mounts %v, want %v", pod.Name, keys, want)
		}
		for _, volume := range pod.Spec.Volumes {
			if path := volume.HostPath; path != nil && path.Path != w.class.ResourceDirectory && path.Path != w.class.ManifestDirectory {
				t.Errorf("%s mounts %s of the node", pod.Name, path.Path)
			}
		}
		if spec := pod.Spec; *spec.AutomountServiceAccountToken || spec.Containers[0].SecurityContext.Privileged != nil || !spec.HostNetwork {
			t.Errorf("%s: %+v", pod.Name, spec)
		}
	}
}

// TestNodeWhoseLeavesAreNotInTheRevision adds a node whose leaf is not issued yet. It waits for that, and for nothing else.
func TestNodeWhoseLeavesAreNotInTheRevision(t *testing.T) {
	w := newAggregated(t, 3)
	w.run(30, nil)
	w.addMachine("m3")
	w.leaves["m3"] = []string{"peer-m3"}
	w.run(200, nil)
	b := w.blocker("m3", rollout.ReasonResourcesMissing)
	if b == nil || !b.Overdue || !strings.Contains(b.Message, "peer-m3.crt") || !w.events.has(rollout.EventResourcesMissing) {
		t.Errorf("nothing says what is missing:\n%s", w.statusText())
	}
	if c := w.condition(rollout.InstallerControllerDegraded); !c.Status {
		t.Errorf("condition %+v", c)
	}
	w.aggregate.Leaves = append(w.aggregate.Leaves, "peer-m3")
	w.issue()
	w.run(300, nil)
	if b, c := w.blocker("m3", rollout.ReasonResourcesMissing), w.condition(rollout.InstallerControllerDegraded); b != nil || c.Status {
		t.Errorf("it waits for a leaf that is issued:\n%s", w.statusText())
	}
	if n := w.status().Node("m3", string(w.machines[3].uid)); n == nil || n.CurrentRevision != w.status().LatestAvailableRevision {
		t.Errorf("the node does not have the revision:\n%s", w.statusText())
	}
}

// TestNodeThatNoLeafIsFor adds a node without a leaf in the aggregate. Nothing is mounted on it, in particular no
// keys of other nodes.
func TestNodeThatNoLeafIsFor(t *testing.T) {
	w := newAggregated(t, 3)
	w.run(30, nil)
	w.addMachine("m3")
	w.run(200, nil)
	b := w.blocker("m3", rollout.ReasonResourcesMissing)
	if b == nil || !b.Overdue || !strings.Contains(b.Message, "no leaf in secret certs is for this node") || !w.events.has(rollout.EventResourcesMissing) {
		t.Errorf("nothing says why the node has nothing:\n%s", w.statusText())
	}
	pods, err := w.client.CoreV1().Pods(testNamespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Spec.NodeName == "m3" && pod.Labels[labelApp] == appInstaller {
			t.Errorf("%s runs on the node", pod.Name)
		}
	}
}
