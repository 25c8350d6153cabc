// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

var values = Values{
	Revision: 7, NodeName: "master-1", NodeIP: "10.0.0.5", RestartHash: "abc", Directory: "/etc/kubernetes/static-pod-resources/etcd-pod-7",
	Permitted: &configv1alpha1.PermittedPod{Images: []string{"etcd"}, HostPaths: []string{"/var/lib/etcd"}, HostNetwork: true},
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files")
	flag.Parse()
	os.Exit(m.Run())
}

func template(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestManifest compares with testdata/manifest.yaml, which `go test -update` writes.
func TestManifest(t *testing.T) {
	got, err := RenderManifest([]byte(template(t)), values)
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "manifest.yaml")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	again, err := RenderManifest([]byte(template(t)), values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(again)); diff != "" {
		t.Errorf("made twice (-first +second):\n%s", diff)
	}
}

func TestManifestRefuses(t *testing.T) {
	volume := "path: /etc/kubernetes/static-pod-resources/etcd-pod-REVISION"
	tests := []struct {
		name     string
		old, new string
		want     string
	}{
		{"another kind", "kind: Pod", "kind: Deployment", "want v1, Pod"},
		{"another version", "apiVersion: v1", "apiVersion: v2", "want v1, Pod"},
		{"no name", "name: etcd\n", "{}\n", "metadata.name is empty"},
		{"generated name", "name: etcd\n", "generateName: etcd-\n  name: etcd\n", "generateName"},
		{"unknown field", "hostNetwork: true", "hostNetwork: true\n  hostNetworks: true", `unknown field "spec.hostNetworks"`},
		{"unknown field of a container", "image: etcd", "image: etcd\n    imagePolicy: x", `unknown field "spec.containers[0].imagePolicy"`},
		{"a key twice", "hostNetwork: true", "hostNetwork: true\n  hostNetwork: true", "line 8"},
		{"no YAML", "kind: Pod", "kind: {", "read it as YAML"},
		{"a number for a text", "value: master", "value: REVISION", "EnvVar.spec.containers.env.value"},
		{"two documents", "kind: Pod\n", "kind: Pod\n---\nkind: Pod\n", "2 YAML documents"},
		{"no volume of the revision", volume, "path: /var/lib/other", "no volume is a hostPath of /etc/kubernetes/static-pod-resources/etcd-pod-7"},
		{"a fixed revision", volume, "path: /etc/kubernetes/static-pod-resources/etcd-pod-3", "belongs to another revision"},
		{"the pointer as a mount", volume, volume + "/current", "does not follow the pointer"},
		{"a subPath", "name: resource-dir\n", "name: resource-dir\n      subPath: current\n", "subPath"},
		{"a subPathExpr", "name: resource-dir\n", "name: resource-dir\n      subPathExpr: current\n", "subPath"},
		{"a volume that nobody mounts", "    - mountPath: /etc/kubernetes/static-pod-resources\n      name: resource-dir\n      readOnly: true\n", "    - {mountPath: /x, name: data-dir}\n", "no container mounts"},
		{"a variable of kubelet", "value: master", "value: $(NODE_NAME)", "line 14: $(NODE_NAME looks like a variable"},
		{"a variable of a shell", "value: master", "value: ${NODE_IP}", "looks like a variable"},
		{"a bare variable", "value: master", "value: $REVISION", "looks like a variable"},
		{"braces", "value: master", "value: '{REVISION}'", "looks like a variable"},
		{"a variable named as a placeholder", "name: WHO", "name: NODE_NAME", "environment variable NODE_NAME"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := template(t)
			if !strings.Contains(text, test.old) {
				t.Fatalf("the template has no %q", test.old)
			}
			_, err := RenderManifest([]byte(strings.Replace(text, test.old, test.new, 1)), values)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
	t.Run("no containers", func(t *testing.T) {
		_, err := RenderManifest([]byte("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"), values)
		if err == nil || !strings.Contains(err.Error(), "spec.containers is empty") {
			t.Errorf("got error %v", err)
		}
	})
}

func TestManifestRefusesValues(t *testing.T) {
	tests := map[string]func(*Values){
		"revision":           func(v *Values) { v.Revision = 0 },
		"node name":          func(v *Values) { v.NodeName = "a: b\nc" },
		"node IP":            func(v *Values) { v.NodeIP = "fe80::1%eth0" },
		"restart hash":       func(v *Values) { v.RestartHash = "" },
		"relative directory": func(v *Values) { v.Directory = "etcd-pod-7" },
		"other directory":    func(v *Values) { v.Directory = "/x/etcd-pod-17x" },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			wrong := values
			change(&wrong)
			if _, err := RenderManifest([]byte(template(t)), wrong); err == nil {
				t.Error("it is accepted")
			}
		})
	}
}

func TestSubstitute(t *testing.T) {
	v6 := values
	v6.NodeIP = "fd00::5"
	tests := []struct {
		name, text, want string
		values           Values
	}{
		{"between hyphens and dots", "etcd-pod-REVISION/NODE_NAME.crt", "etcd-pod-7/master-1.crt", values},
		{"other words", "ETCD_REVISION REVISIONS NODE_NAMES XNODE_IP NODE_IP2 revision", "ETCD_REVISION REVISIONS NODE_NAMES XNODE_IP NODE_IP2 revision", values},
		{"ends of the text", "REVISION", "7", values},
		{"two in a row", "NODE_NAME=https://NODE_IP:2380", "master-1=https://10.0.0.5:2380", values},
		{"IPv6 in a URL with a port", "https://NODE_IP:2379", "https://[fd00::5]:2379", v6},
		{"IPv6 in a URL", "https://NODE_IP/", "https://[fd00::5]/", v6},
		{"IPv6 with a port", "NODE_IP:2379", "[fd00::5]:2379", v6},
		{"IPv6 in brackets", "https://[NODE_IP]:2379", "https://[fd00::5]:2379", v6},
		{"IPv6 alone", "--ip=NODE_IP, NODE_IP: x", "--ip=fd00::5, fd00::5: x", v6},
		{"a value is not looked at again", "NODE_NAME", "x-REVISION", Values{Revision: 1, NodeName: "x-REVISION"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := substitute([]byte(test.text), test.values)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzManifest: an accepted template always renders to a pod of its revision.
func FuzzManifest(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "template.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("# only\n---\n{apiVersion: v1, kind: Pod}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := RenderManifest(text, values)
		if err != nil {
			return
		}
		pod, err := ParsePod(got)
		if err != nil {
			t.Fatalf("what it makes cannot be read: %v", err)
		}
		if pod.Labels[LabelRevision] != "7" || pod.Annotations[AnnotationRestartHash] != "abc" {
			t.Errorf("labels %v, annotations %v", pod.Labels, pod.Annotations)
		}
		if err := checkVolumes(pod, values.Directory); err != nil {
			t.Error(err)
		}
	})
}
