// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeadm

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
)

const testImage = "certrotation@sha256:0000000000000000000000000000000000000000000000000000000000000000"

// written returns the manifests of the first control plane node, as kubeadm writes them.
func written(t *testing.T) Manifests {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	return Manifests{Etcd: read(EtcdManifest), APIServer: read(APIServerManifest)}
}

// brought renders a template for another node.
func brought(t *testing.T, adoption *Adoption, name, key string) *corev1.Pod {
	t.Helper()
	class, err := configv1alpha1.LoadClass(&adoption.Class.Spec)
	if err != nil {
		t.Fatal(err)
	}
	text, err := nodepod.RenderManifest([]byte(adoption.Templates.Data[key]), nodepod.Values{
		Revision: 7, NodeName: "master-1", NodeIP: "10.0.0.6", RestartHash: "x", Directory: "/etc/kubernetes/static-pod-resources/etcd-pod-7",
		Permitted: class.Permitted(name),
	})
	if err != nil {
		t.Fatal(err)
	}
	pod, err := nodepod.ParsePod(text)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// changed returns the words of a command line that are not in the other.
func changed(is, was []string) []string {
	var out []string
	for _, word := range is {
		if !slices.Contains(was, word) {
			out = append(out, word)
		}
	}
	return out
}

// TestAdopt adopts the manifests of one node and checks what another node gets.
func TestAdopt(t *testing.T) {
	in := written(t)
	adoption, err := Adopt(in, "etcd", testImage)
	if err != nil {
		t.Fatal(err)
	}
	const certs, bundles = mounted + "/current/secrets/etcd-all-certs/", mounted + "/current/configmaps/etcd-all-bundles/"
	for _, test := range []struct {
		name, key string
		was       []byte
		flags     []string
		paths     []string
	}{
		{"etcd", "pod.yaml", in.Etcd, []string{
			"--advertise-client-urls=https://10.0.0.6:2379",
			"--cert-file=" + certs + "etcd-server-master-1.crt",
			"--initial-advertise-peer-urls=https://10.0.0.6:2380",
			"--key-file=" + certs + "etcd-server-master-1.key",
			"--listen-client-urls=https://127.0.0.1:2379,https://10.0.0.6:2379",
			"--listen-peer-urls=https://10.0.0.6:2380",
			"--name=master-1",
			"--peer-cert-file=" + certs + "etcd-peer-master-1.crt",
			"--peer-key-file=" + certs + "etcd-peer-master-1.key",
			"--peer-trusted-ca-file=" + bundles + "etcd-ca.crt",
			"--trusted-ca-file=" + bundles + "etcd-ca.crt",
			"--initial-cluster=master-1=https://10.0.0.6:2380",
			"--initial-cluster-state=existing",
		}, []string{"/var/lib/etcd", "/etc/kubernetes/static-pod-resources/etcd-pod-7"}},
		{"kube-apiserver", "kube-apiserver.yaml", in.APIServer, []string{
			"--advertise-address=10.0.0.6",
			"--etcd-cafile=" + bundles + "etcd-ca.crt",
			"--etcd-certfile=" + certs + "apiserver-etcd-client-master-1.crt",
			"--etcd-keyfile=" + certs + "apiserver-etcd-client-master-1.key",
		}, []string{"/etc/ssl/certs", "/etc/kubernetes/pki", "/etc/kubernetes/static-pod-resources/etcd-pod-7"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := brought(t, adoption, test.name, test.key)
			was, err := nodepod.ParsePod(test.was)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.flags, changed(pod.Spec.Containers[0].Command, was.Spec.Containers[0].Command)); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
			var paths []string
			for _, v := range pod.Spec.Volumes {
				paths = append(paths, v.HostPath.Path)
			}
			if diff := cmp.Diff(test.paths, paths); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
			text := adoption.Templates.Data[test.key]
			for _, own := range []string{"10.0.0.5:", "10.0.0.5\n", "master-0", "status"} {
				if strings.Contains(text, own) {
					t.Errorf("the template has %q:\n%s", own, text)
				}
			}
		})
	}
	if pod := brought(t, adoption, "kube-apiserver", "kube-apiserver.yaml"); pod.Spec.Containers[0].LivenessProbe.HTTPGet.Host != "10.0.0.6" {
		t.Errorf("it is probed at %s", pod.Spec.Containers[0].LivenessProbe.HTTPGet.Host)
	}
	if text := adoption.Templates.Data["kube-apiserver.yaml"]; !strings.Contains(text, "10.0.0.50/32") {
		t.Errorf("an address that begins like that of the node was changed:\n%s", text)
	}
}

func TestAdoptWithAnotherCertificatesDir(t *testing.T) {
	in := written(t)
	for _, text := range []*[]byte{&in.Etcd, &in.APIServer} {
		*text = bytes.ReplaceAll(*text, []byte("/etc/kubernetes/pki"), []byte("/srv/pki"))
	}
	adoption, err := Adopt(in, "etcd", testImage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/var/lib/etcd"}, adoption.Class.Spec.Pod.HostPaths); diff != "" {
		t.Errorf("what etcd may mount (-want +got):\n%s", diff)
	}
	if text := adoption.Templates.Data[configv1alpha1.PodKey]; strings.Contains(text, "/srv/pki") {
		t.Errorf("etcd still has kubeadm's certificates:\n%s", text)
	}
}

// TestAdoptionPermitsNoMore: the class permits exactly what the manifests need.
func TestAdoptionPermitsNoMore(t *testing.T) {
	adoption, err := Adopt(written(t), "etcd", testImage)
	if err != nil {
		t.Fatal(err)
	}
	want := configv1alpha1.StaticPodClassSpec{
		Namespaces: []string{"kube-system"}, PodName: "etcd", Image: testImage, ManifestFile: "etcd.yaml",
		Pod: configv1alpha1.PermittedPod{
			Images: []string{"registry.k8s.io/etcd:3.6.4-0"}, HostPaths: []string{"/var/lib/etcd"}, HostNetwork: true,
			PriorityClassNames: []string{"system-node-critical"},
		},
		Companions: []configv1alpha1.PermittedCompanion{{PodName: "kube-apiserver", ManifestFile: "kube-apiserver.yaml", Pod: configv1alpha1.PermittedPod{
			Images: []string{"registry.k8s.io/kube-apiserver:v1.35.0"}, HostPaths: []string{"/etc/ssl/certs", "/etc/kubernetes/pki"}, HostNetwork: true,
			PriorityClassNames: []string{"system-node-critical"},
		}}},
	}
	if diff := cmp.Diff(want, adoption.Class.Spec); diff != "" {
		t.Errorf("class (-want +got):\n%s", diff)
	}
}

func TestAdoptRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		etcd, apiServer [2]string
		image           string
		want            string
	}{
		"an external etcd":               {apiServer: [2]string{"https://127.0.0.1:2379", "https://etcd.example:2379"}, want: "kube-apiserver.yaml: --etcd-servers=https://etcd.example:2379"},
		"an apiserver without etcd's CA": {apiServer: [2]string{"    - --etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt\n", ""}, want: "there is no --etcd-cafile"},
		"etcd without a certificate":     {etcd: [2]string{"--peer-cert-file", "--x"}, want: "etcd.yaml: there is no --peer-cert-file"},
		"another pod":                    {etcd: [2]string{"name: etcd\n  namespace", "name: other\n  namespace"}, want: "the pod is other"},
		"no YAML":                        {etcd: [2]string{"apiVersion", "\t"}, want: "etcd.yaml"},
		"no address":                     {etcd: [2]string{"--advertise-client-urls=https://10.0.0.5", "--advertise-client-urls=https://master-0"}, want: "want a URL with the address of the node"},
		"a privileged etcd":              {etcd: [2]string{"    imagePullPolicy", "    securityContext: {privileged: true}\n    imagePullPolicy"}, want: "the manifest of etcd cannot be brought by a rollout"},
		"a tag of certrotation":          {image: "certrotation:1", want: "spec.image"},
		"the whole of /etc":              {apiServer: [2]string{"path: /etc/ssl/certs", "path: /etc"}, want: "cannot be permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			in, image := written(t), testImage
			in.Etcd = []byte(strings.Replace(string(in.Etcd), tc.etcd[0], tc.etcd[1], 1))
			in.APIServer = []byte(strings.Replace(string(in.APIServer), tc.apiServer[0], tc.apiServer[1], 1))
			if tc.image != "" {
				image = tc.image
			}
			if _, err := Adopt(in, "etcd", image); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestReplaceAddress(t *testing.T) {
	for _, test := range []struct{ text, address, want string }{
		{"https://10.0.0.5:2379,https://10.0.0.50:2379", "10.0.0.5", "https://IP:2379,https://10.0.0.50:2379"},
		{"110.0.0.5 10.0.0.5.6 10.0.0.5", "10.0.0.5", "110.0.0.5 10.0.0.5.6 IP"},
		{"10.0.0.510.0.0.5", "10.0.0.5", "10.0.0.510.0.0.5"},
		{"https://[fd00::5]:2379 fd00::5 fd00::5:1", "fd00::5", "https://[IP]:2379 IP fd00::5:1"},
	} {
		if got := replaceAddress(test.text, test.address, "IP"); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
	}
}
