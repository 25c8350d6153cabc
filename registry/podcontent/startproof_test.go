// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/property"
)

const (
	startBundleKey = "configmap.content.certrotation.dev/bundle"
	leafKey        = "secret.content.certrotation.dev/leaf"
)

func hash(of string) string { return strings.Repeat(of, 64) }

// gated returns a pod that starts with content a of the bundle and b of the leaf, behind a gate for each.
func gated() *corev1.Pod {
	mount := func(volume string) []corev1.VolumeMount {
		return []corev1.VolumeMount{{Name: volume, MountPath: "/" + volume}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{startBundleKey: hash("a"), leafKey: hash("b")}},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{
				{
					Name: "wait-trust", Args: []string{"wait", "--for-content=$(HASH)", "--timeout", "5m", "/trust"}, VolumeMounts: mount("trust"),
					Env: []corev1.EnvVar{{Name: "HASH", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
						FieldPath: "metadata.annotations['" + startBundleKey + "']",
					}}}},
				},
				{Name: "wait-tls", Command: []string{"/bin/certrotation"}, Args: []string{"wait", "--for-content", hash("b"), "/tls/"}, VolumeMounts: mount("tls")},
			},
			Containers: []corev1.Container{{Name: "web", VolumeMounts: append(mount("trust"), mount("tls")...)}},
			Volumes: []corev1.Volume{
				{Name: "trust", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "bundle"}}}},
				{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "leaf"}}},
			},
		},
	}
}

func projected(sources ...corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
}

func bundleSource(items ...corev1.KeyToPath) corev1.VolumeProjection {
	return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "bundle"}, Items: items}}
}

func TestFault(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	asked := StartRequirement{Bundle: "bundle", Leaves: []string{"leaf"}}
	for name, tt := range map[string]struct {
		edit  func(pod *corev1.Pod)
		asked *StartRequirement
		want  string
	}{
		"a gate for each":                      {edit: func(*corev1.Pod) {}},
		"no annotation of the bundle":          {edit: func(pod *corev1.Pod) { delete(pod.Annotations, startBundleKey) }, want: "it does not say which content of ConfigMap/bundle"},
		"no annotation of the leaf":            {edit: func(pod *corev1.Pod) { delete(pod.Annotations, leafKey) }, want: "the annotation " + leafKey},
		"the annotation is no hash":            {edit: func(pod *corev1.Pod) { pod.Annotations[startBundleKey] = "v2" }, want: `is "v2", which is no hash`},
		"it verifies nothing":                  {edit: func(pod *corev1.Pod) { delete(pod.Annotations, startBundleKey) }, asked: &StartRequirement{Leaves: []string{"leaf"}}},
		"it presents nothing":                  {edit: func(pod *corev1.Pod) { delete(pod.Annotations, leafKey) }, asked: &StartRequirement{Bundle: "bundle"}},
		"no gate":                              {edit: func(pod *corev1.Pod) { pod.Spec.InitContainers = nil }, want: "it has no start gate for ConfigMap/bundle"},
		"no gate for the leaf":                 {edit: func(pod *corev1.Pod) { pod.Spec.InitContainers = pod.Spec.InitContainers[:1] }, want: "it has no start gate for Secret/leaf"},
		"no gate, and none is asked for":       {edit: func(pod *corev1.Pod) { pod.Spec.InitContainers = nil }, asked: &StartRequirement{Bundle: "bundle", Assumed: true}},
		"a hash that is none, without gates":   {edit: func(pod *corev1.Pod) { pod.Annotations[startBundleKey] = "" }, asked: &StartRequirement{Bundle: "bundle", Assumed: true}, want: "is no hash"},
		"the gate waits for another content":   {edit: func(pod *corev1.Pod) { pod.Spec.InitContainers[1].Args[2] = hash("c") }, want: "no start gate for Secret/leaf"},
		"the gate waits for another directory": {edit: func(pod *corev1.Pod) { pod.Spec.InitContainers[1].Args[3] = "/trust" }, want: "no start gate for Secret/leaf"},
		"the gate is a sidecar":                {edit: func(pod *corev1.Pod) { pod.Spec.InitContainers[1].RestartPolicy = &always }, want: "no start gate for Secret/leaf"},
		"the gate is behind a shell":           {edit: func(pod *corev1.Pod) { pod.Spec.InitContainers[1].Command = []string{"sh", "-c"} }, want: "no start gate for Secret/leaf"},
		"the gate is another program":          {edit: func(pod *corev1.Pod) { pod.Spec.InitContainers[0].Args[0] = "agent" }, want: "no start gate for ConfigMap/bundle"},
		"the gate mounts one file":             {edit: func(pod *corev1.Pod) { pod.Spec.InitContainers[1].VolumeMounts[0].SubPath = "tls.crt" }, want: "no start gate for Secret/leaf"},
		"the hash is a variable as written": {edit: func(pod *corev1.Pod) {
			pod.Spec.InitContainers[0].Env[0] = corev1.EnvVar{Name: "HASH", Value: hash("a")}
		}},
		"the variable is another annotation": {edit: func(pod *corev1.Pod) {
			pod.Spec.InitContainers[0].Env[0].ValueFrom.FieldRef.FieldPath = "metadata.annotations['" + leafKey + "']"
		}, want: "no start gate for ConfigMap/bundle"},
		"the variable is of a Secret": {edit: func(pod *corev1.Pod) {
			pod.Spec.InitContainers[0].Env[0].ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "x"}}
		}, want: "no start gate for ConfigMap/bundle"},
		"there is no such variable": {edit: func(pod *corev1.Pod) { pod.Spec.InitContainers[0].Env = nil }, want: "no start gate for ConfigMap/bundle"},
		"the volume shows a part": {edit: func(pod *corev1.Pod) {
			pod.Spec.Volumes[1].Secret.Items = []corev1.KeyToPath{{Key: "tls.crt"}}
		}, want: "no start gate for Secret/leaf"},
		"a projected volume of it alone": {edit: func(pod *corev1.Pod) { pod.Spec.Volumes[0].VolumeSource = projected(bundleSource()) }},
		"a projected volume of a part": {edit: func(pod *corev1.Pod) {
			pod.Spec.Volumes[0].VolumeSource = projected(bundleSource(corev1.KeyToPath{Key: "x"}))
		}, want: "no start gate for ConfigMap/bundle"},
		"a projected volume of several": {edit: func(pod *corev1.Pod) {
			pod.Spec.Volumes[0].VolumeSource = projected(bundleSource(), corev1.VolumeProjection{})
		}, want: "no start gate for ConfigMap/bundle"},
		"the volume is of something else": {edit: func(pod *corev1.Pod) { pod.Spec.Volumes[0].ConfigMap.Name = "other" }, want: "no start gate for ConfigMap/bundle"},
		"the program mounts it by another volume": {edit: func(pod *corev1.Pod) {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "again", VolumeSource: projected(bundleSource())})
			pod.Spec.Containers[0].VolumeMounts[0].Name = "again"
		}, want: "its container web mounts ConfigMap/bundle past the start gate"},
		"a sidecar before the gate": {edit: func(pod *corev1.Pod) {
			proxy := corev1.Container{Name: "proxy", RestartPolicy: &always, VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/tls"}}}
			pod.Spec.InitContainers = append([]corev1.Container{proxy}, pod.Spec.InitContainers...)
		}, want: "its container proxy mounts Secret/leaf past the start gate"},
		"a sidecar behind the gate": {edit: func(pod *corev1.Pod) {
			proxy := corev1.Container{Name: "proxy", RestartPolicy: &always, VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/tls"}}}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, proxy)
		}},
		"an init container that ends before the gate": {edit: func(pod *corev1.Pod) {
			setup := corev1.Container{Name: "setup", VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/tls"}}}
			pod.Spec.InitContainers = append([]corev1.Container{setup}, pod.Spec.InitContainers...)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pod, asked := gated(), asked
			tt.edit(pod)
			if tt.asked != nil {
				asked = *tt.asked
			}
			got := asked.Fault(pod)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("Fault() = %q, want one with %q", got, tt.want)
			}
			if got != asked.Fault(pod) {
				t.Error("it is another fault when asked again")
			}
		})
	}
}

func TestProveStart(t *testing.T) {
	const former, anchor, leaf, old = pki.Fingerprint("former"), pki.Fingerprint("anchor"), pki.Fingerprint("leaf"), pki.Fingerprint("old")
	current := Contents{Bundle: Content{Hash: hash("a"), Shows: []pki.Fingerprint{anchor}}, Leaves: []Content{{Hash: hash("b"), Shows: []pki.Fingerprint{leaf}}}}
	seen := func(trusts, presents pki.Fingerprint) *trust.Observation {
		o := &trust.Observation{}
		if trusts != "" {
			o.Trusts = []pki.Fingerprint{trusts}
		}
		if presents != "" {
			o.Presents = []pki.Fingerprint{presents}
		}
		return o
	}
	keystore := func(c Content) Content {
		c.Keystore = "truststore.jks"
		return c
	}
	newer := func(c Content) Content { return Content{Hash: hash("f"), Shows: c.Shows} }
	for name, tt := range map[string]struct {
		bundle, leaf Content
		before       *trust.Observation
		want         *trust.Observation
		failure      string
	}{
		"both are current":                         {current.Bundle, current.Leaves[0], nil, seen(anchor, leaf), ""},
		"both are current, seen before":            {current.Bundle, current.Leaves[0], seen(former, old), seen(former, old), ""},
		"both are newer":                           {newer(current.Bundle), newer(current.Leaves[0]), nil, seen("", ""), "its annotation " + startBundleKey},
		"both are newer, seen before":              {newer(current.Bundle), newer(current.Leaves[0]), seen(anchor, leaf), seen(anchor, leaf), ""},
		"both are newer, a failure before":         {newer(current.Bundle), newer(current.Leaves[0]), &trust.Observation{Failure: "x"}, seen("", ""), "its annotation " + startBundleKey},
		"the leaf is newer":                        {current.Bundle, newer(current.Leaves[0]), nil, seen(anchor, ""), ""},
		"the leaf is newer, seen before":           {current.Bundle, newer(current.Leaves[0]), seen("", old), seen(anchor, old), ""},
		"the bundle is newer":                      {newer(current.Bundle), current.Leaves[0], nil, seen("", leaf), ""},
		"the bundle is newer, seen before":         {newer(current.Bundle), current.Leaves[0], seen(anchor, ""), seen(anchor, leaf), ""},
		"a keystore beside":                        {keystore(current.Bundle), keystore(current.Leaves[0]), nil, seen("", ""), "has the keystore truststore.jks"},
		"nothing exists":                           {Content{}, Content{}, nil, seen("", ""), "ConfigMap/bundle does not have now"},
		"nothing exists any more, and it was seen": {Content{}, Content{}, seen(anchor, leaf), seen(anchor, leaf), ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := &StartRequirement{Bundle: "bundle", Leaves: []string{"leaf"}}
			got := asked.Prove(gated(), &Contents{Bundle: tt.bundle, Leaves: []Content{tt.leaf}}, tt.before)
			if diff := cmp.Diff(StartProof{Trusts: tt.want.Trusts, Presents: tt.want.Presents, Failure: got.Failure}, got); diff != "" {
				t.Errorf("proof (-want +got):\n%s", diff)
			}
			if (got.Failure == "") != (tt.failure == "") || !strings.Contains(got.Failure, tt.failure) {
				t.Errorf("failure %q, want one with %q", got.Failure, tt.failure)
			}
			if asked.Known(tt.before) && got.Failure != "" {
				t.Error("everything was seen, and it is not known")
			}
		})
	}
}

// TestProveSeveralLeaves: what a process was observed to present stays proven when another leaf becomes known.
func TestProveSeveralLeaves(t *testing.T) {
	pod := gated()
	pod.Annotations["secret.content.certrotation.dev/peer"] = hash("d")
	asked := &StartRequirement{Leaves: []string{"leaf", "peer"}, Assumed: true}
	before := &trust.Observation{Presents: []pki.Fingerprint{"old"}}
	if asked.Known(before) {
		t.Error("one of two leaves is everything")
	}
	got := asked.Prove(pod, &Contents{Leaves: []Content{{Hash: hash("f")}, {Hash: hash("d"), Shows: []pki.Fingerprint{"peer"}}}}, before)
	if diff := cmp.Diff(StartProof{Presents: []pki.Fingerprint{"old", "peer"}}, got); diff != "" {
		t.Errorf("proof (-want +got):\n%s", diff)
	}
}

// TestStartProofIsOfWhatWasRead draws a history of bundles. Kubelet may show any of them to the gate of a pod, and
// later ones when containers start. The proof is what the pod has read, or nothing.
func TestStartProofIsOfWhatWasRead(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		bundle := &corev1.ConfigMap{Data: map[string]string{"ca-bundle.crt": "old"}}
		history := []*corev1.ConfigMap{bundle}
		for _, anchors := range rapid.SliceOfN(rapid.SampledFrom([]string{"old", "old and new", "new"}), 0, 6).Draw(t, "anchors") {
			next := bundle.DeepCopy()
			next.Data["ca-bundle.crt"] = anchors
			contenthash.SupersedeConfigMap(next, bundle)
			history, bundle = append(history, next), next
		}
		upTo := func(name string, first, last int) int { return rapid.IntRange(first, last).Draw(t, name) }
		now := upTo("now", 0, len(history)-1)
		named := upTo("named", 0, now)
		shown := upTo("shown", 0, now)
		read := upTo("read", shown, now)
		mounted := contenthash.ContentOfConfigMap(history[shown])
		if !mounted.Reaches(contenthash.OfConfigMap(history[named])) {
			return
		}
		pod := gated()
		pod.Annotations[startBundleKey] = contenthash.OfConfigMap(history[named])
		anchors := func(of int) []pki.Fingerprint {
			return []pki.Fingerprint{pki.Fingerprint(history[of].Data["ca-bundle.crt"])}
		}
		asked := &StartRequirement{Bundle: "bundle"}
		got := asked.Prove(pod, &Contents{Bundle: Content{Hash: contenthash.OfConfigMap(history[now]), Shows: anchors(now)}}, nil)
		if diff := cmp.Diff(anchors(read), got.Trusts); diff != "" && len(got.Trusts) > 0 {
			t.Errorf("it has read bundle %d of %d (-read +proven):\n%s", read, now, diff)
		}
		if named == now && len(got.Trusts) == 0 {
			t.Errorf("it names the present bundle, and %s", got.Failure)
		}
	})
}

func TestResolve(t *testing.T) {
	c := &corev1.Container{Env: []corev1.EnvVar{{Name: "HASH", Value: "abc"}}}
	for text, want := range map[string]string{"$(HASH)": "abc", "$(NONE)": "", "HASH)": "HASH)", "$(HASH": "$(HASH", "abc": "abc"} {
		if got := resolve(text, c, &corev1.Pod{}); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
