// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/property"
)

// cluster has ConfigMaps with bundles, one node, and pods that read their anchors at their start. The node's
// kubelet caches immutable ConfigMaps while a pod mounts one of that name.
type cluster struct {
	t       *rapid.T
	anchors []*pki.Certificate
	now     time.Time
	objects map[string]*corev1.ConfigMap
	cache   map[string]*corev1.ConfigMap
	pods    []*program
}

type program struct {
	pod *corev1.Pod
	// read are the anchors that the program has loaded, nil while kubelet has nothing to mount.
	read []pki.Fingerprint
}

// plain names are not derived from a content, even if they look like it.
var plain = []string{"bundle", "bundle-deadbeef"}

// put makes an object, or overwrites a mutable one. An object that is named by its content never changes its
// content.
func (c *cluster) put() {
	cm := &corev1.ConfigMap{ObjectMeta: consenting(), Data: map[string]string{}}
	for _, anchor := range c.anchors {
		if rapid.Bool().Draw(c.t, "anchor") {
			cm.Data[bundleKey] += string(anchor.PEM())
		}
	}
	if rapid.Bool().Draw(c.t, "immutable") {
		cm.Immutable = new(true)
	}
	cm.Name = rapid.SampledFrom(plain).Draw(c.t, "name")
	if rapid.Bool().Draw(c.t, "named by content") {
		cm.Name = "bundle-" + contenthash.OfConfigMap(cm)[:leastHash]
	}
	cm.CreationTimestamp = metav1.NewTime(c.now)
	before := c.objects[cm.Name]
	if before != nil && before.Immutable != nil {
		return
	}
	if before != nil {
		cm.CreationTimestamp = before.CreationTimestamp
	}
	c.objects[cm.Name] = cm
}

func (c *cluster) drop() {
	for _, name := range slices.Sorted(maps.Keys(c.objects)) {
		if rapid.Bool().Draw(c.t, "drop "+name) {
			delete(c.objects, name)
		}
	}
}

// begin makes a pod that mounts an object, which may not exist.
func (c *cluster) begin() {
	names := slices.Concat(plain, slices.Sorted(maps.Keys(c.objects)))
	pod := podOf(rapid.SampledFrom(names).Draw(c.t, "mounts"), "")
	pod.CreationTimestamp = metav1.NewTime(c.now)
	c.pods = append(c.pods, &program{pod: pod})
}

// end removes a pod, and the cache entries that only this pod used.
func (c *cluster) end() {
	if len(c.pods) == 0 {
		return
	}
	c.pods = c.pods[1:]
	used := map[string]bool{}
	for _, p := range c.pods {
		used[p.mounts()] = true
	}
	for name := range c.cache {
		if !used[name] {
			delete(c.cache, name)
		}
	}
}

func (p *program) mounts() string { return p.pod.Spec.Volumes[0].ConfigMap.Name }

// kubelet starts the pods that it can. It takes immutable objects from its cache.
func (c *cluster) kubelet() {
	for _, p := range c.pods {
		if p.read != nil {
			continue
		}
		cm := c.cache[p.mounts()]
		if cm == nil {
			cm = c.objects[p.mounts()]
		}
		if cm == nil {
			continue
		}
		if cm.Immutable != nil {
			c.cache[p.mounts()] = cm
		}
		p.read = []pki.Fingerprint{}
		if anchors, err := pki.ParseBundle([]byte(cm.Data[bundleKey])); err == nil {
			for _, anchor := range anchors {
				p.read = append(p.read, anchor.Fingerprint)
			}
		}
	}
}

// look returns a fault if a pod is proven to have other anchors than it has read, "" otherwise.
func (c *cluster) look(rule func(*Object) *Object) string {
	asked := asked()
	asked.Leaves = nil
	for _, p := range c.pods {
		if p.read == nil {
			continue
		}
		references, fault := asked.References(p.pod)
		if fault != "" {
			c.t.Fatal(fault)
		}
		if cm := c.objects[p.mounts()]; cm != nil {
			references[0].Object = rule(OfConfigMap(cm, bundleKey))
		}
		proof := asked.Prove(p.pod, references)
		if proof.Failure == "" && fmt.Sprint(proof.Trusts) != fmt.Sprint(p.read) {
			return fmt.Sprintf("a pod with %s is proven to have %v and has %v", p.mounts(), proof.Trusts, p.read)
		}
	}
	return ""
}

func (c *cluster) live(rule func(*Object) *Object) string {
	for range rapid.IntRange(20, 60).Draw(c.t, "steps") {
		c.now = c.now.Add(time.Second)
		rapid.SampledFrom([]func(){c.put, c.put, c.drop, c.begin, c.begin, c.end, c.kubelet, c.kubelet}).Draw(c.t, "step")()
		if wrong := c.look(rule); wrong != "" {
			return wrong
		}
	}
	return ""
}

// TestWhatIsProvenWasRead: a proof is true for any sequence of writes, deletions and cache states. The rules on
// names and on immutable objects are needed: without them a proof may be false.
func TestWhatIsProvenWasRead(t *testing.T) {
	anchors := []*pki.Certificate{newWorld(t).ca, newWorld(t).ca}
	wrong := map[string]int{}
	property.Check(t, func(t *rapid.T) {
		for name, rule := range map[string]func(*Object) *Object{
			"all rules":   func(o *Object) *Object { return o },
			"any name":    func(o *Object) *Object { o.byContent = true; return o },
			"any content": func(o *Object) *Object { o.byContent, o.immutable = true, true; return o },
		} {
			c := &cluster{t: t, anchors: anchors, now: made, objects: map[string]*corev1.ConfigMap{}, cache: map[string]*corev1.ConfigMap{}}
			switch found := c.live(rule); {
			case found == "":
			case name == "all rules":
				t.Fatal(found)
			default:
				wrong[name]++
			}
		}
	})
	if wrong["any name"] == 0 || wrong["any content"] == 0 {
		t.Errorf("without a rule nothing is wrong: %v", wrong)
	}
}
