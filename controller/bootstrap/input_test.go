// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2/ktesting"
)

const (
	soundNode = "apiVersion: v1\nkind: Node\nmetadata: {name: master-0}\nstatus:\n  addresses: [{type: InternalIP, address: 10.0.0.10}]\n"
	soundMap  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"
)

func TestParseRefuses(t *testing.T) {
	address := func(text string) string { return strings.Replace(soundNode, "10.0.0.10", text, 1) }
	for name, tc := range map[string]struct{ input, want string }{
		"nothing":       {"", "there is no Node"},
		"comments only": {"# nothing\n---\n# here\n", "there is no Node"},
		"no YAML":       {soundNode + "---\n{", "document 2: read it as YAML"},
		"no kind":       {"apiVersion: v1\nmetadata: {name: a}\n", "apiVersion, kind and metadata.name are required"},
		"no name":       {"apiVersion: v1\nkind: ConfigMap\n", "metadata.name are required"},
		"a list":        {"apiVersion: v1\nkind: ConfigMapList\nmetadata: {name: a}\n", "a document of its own"},
		"unknown field": {soundNode + "---\n" + soundMap + "dada: {}\n", `ConfigMap a: unknown field "dada"`},
		"key twice":     {soundNode + "---\n" + soundMap + "data: {a: b, a: c}\n", `data.a: Forbidden: duplicate field`},
		"configuration with an unknown field": {
			soundNode + "---\napiVersion: config.certrotation.dev/v1alpha1\nkind: RotationConfiguration\nmetadata: {name: a, namespace: b}\nspec: {presets: {}}\n",
			"RotationConfiguration a: spec.presets: Forbidden",
		},
		"a record": {
			soundNode + "---\napiVersion: config.certrotation.dev/v1alpha1\nkind: RotationRecord\nmetadata: {name: a, namespace: b}\n",
			"RotationRecord a: only a RotationConfiguration or a StaticPodClass can be given",
		},
		"object twice":         {soundNode + "---\n" + soundMap + "---\n" + soundMap, "ConfigMap b/a is there twice"},
		"node twice":           {soundNode + "---\n" + soundNode, "Node master-0 is there twice"},
		"no namespace":         {soundNode + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", `a: metadata.namespace is ""`},
		"name that climbs":     {strings.Replace(soundNode, "master-0", "../x", 1), "metadata.name"},
		"node without address": {"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", "Node a has no InternalIP"},
		"namespace that has not opted in": {
			soundNode + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n---\n" +
				"apiVersion: config.certrotation.dev/v1alpha1\nkind: RotationConfiguration\nmetadata: {name: a, namespace: b}\n",
			"without the label certrotation.dev/managed=true",
		},
		"documentation 1":        {address("192.0.2.7"), "192.0.2.0/24, which is for documentation"},
		"documentation 2":        {address("198.51.100.7"), "198.51.100.0/24"},
		"documentation 3":        {address("203.0.113.7"), "203.0.113.0/24"},
		"documentation of IPv6":  {address("2001:db8::7"), "2001:db8::/32"},
		"documentation, mapped":  {address("'::ffff:192.0.2.7'"), "192.0.2.0/24"},
		"newer documentation":    {address("3fff::7"), "3fff::/20"},
		"loopback":               {address("127.0.0.1"), "no other node reaches it"},
		"unspecified":            {address("0.0.0.0"), "no other node reaches it"},
		"link-local":             {address("fe80::1"), "no other node reaches it"},
		"with a zone":            {address("fe80::1%eth0"), "it is not an IP address"},
		"a name":                 {address("master-0.example"), "it is not an IP address"},
		"more than is read once": {strings.Repeat("#", MaxInputBytes+1), "more than the limit of 16777216"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.input))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestRenderRefuses(t *testing.T) {
	data := string(sample(t))
	for name, tc := range map[string]struct{ old, replacement, want string }{
		"no configuration":        {"apiVersion: config.certrotation.dev/v1alpha1\nkind: RotationConfiguration", "apiVersion: v1\nkind: Service", "there is no configuration with a rollout"},
		"broken configuration":    {"name: openshift-etcd\n    openshiftEtcd", "name: openshift\n    openshiftEtcd", "RotationConfiguration/etcd"},
		"no rollout":              {"      rollout:\n        className: etcd\n", "", "no configuration with a rollout"},
		"no class":                {"kind: StaticPodClass\nmetadata:\n  name: etcd", "kind: StaticPodClass\nmetadata:\n  name: other", "StaticPodClass/etcd: it does not exist"},
		"class of others":         {"namespaces: [openshift-etcd]", "namespaces: [other]", "does not list the namespace openshift-etcd"},
		"class of another pod":    {"podName: etcd", "podName: apiserver", "permits the static pod apiserver"},
		"class by a tag":          {"certrotation@sha256:0000000000000000000000000000000000000000000000000000000000000000", "certrotation:local", "NAME@sha256:DIGEST"},
		"image of no class":       {"image: certrotation.dev/etcd:local", "image: evil", `"evil" in pod.images`},
		"no selected node":        {`node-role.kubernetes.io/master: ""`, `node-role.kubernetes.io/worker: ""`, "none of the nodes has the labels"},
		"no pod template":         {"name: etcd-pod\n", "name: etcd-other\n", "ConfigMap etcd-pod"},
		"no key of the template":  {"pod.yaml: |", "other.yaml: |", "has no key pod.yaml"},
		"template of another pod": {"      name: etcd\n      namespace: openshift-etcd\n", "      name: etcd\n      namespace: other\n", "the pod of the template is other/etcd"},
		"template of no pod":      {"    kind: Pod\n", "    kind: Job\n", "want v1, Pod"},
		"template mounts nothing of its revision": {
			"/etc/kubernetes/static-pod-resources/etcd-pod-REVISION", "/etc/kubernetes/static-pod-resources/other", "no volume is a hostPath of",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(data, tc.old) {
				t.Fatalf("the sample has no %q", tc.old)
			}
			_, ctx := ktesting.NewTestContext(t)
			in := parsed(t, []byte(strings.ReplaceAll(data, tc.old, tc.replacement)))
			if _, err := Render(ctx, in, testNow()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

// FuzzParse: every input is refused, or yields nodes with a name and an address. It never panics.
func FuzzParse(f *testing.F) {
	f.Add([]byte(soundNode + "---\n" + soundMap))
	f.Add(sample(f))
	f.Add([]byte("---\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := Parse(data)
		if err != nil {
			return
		}
		for _, node := range of[*corev1.Node](in) {
			if node.Name == "" || strings.ContainsAny(node.Name, "/\x00") || len(node.Status.Addresses) == 0 {
				t.Errorf("node %+v", node)
			}
		}
	})
}
