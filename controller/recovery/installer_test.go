// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/test/disktest"
)

// TestBesideInstaller recovers what the real installer wrote, and then runs the installer again. It finds the node
// whole, refuses the expired content of the same revision, and installs the next revision.
func TestBesideInstaller(t *testing.T) {
	now := time.Now()
	end := now.Add(-time.Hour)
	ca := disktest.Authority(t, "signer@1", end)
	node := disktest.NewNode(t, "node-0")
	installer, err := generation.Open(nodepod.Layout{Name: "etcd", ResourceDirectory: node.Resources, ManifestDirectory: node.Manifests})
	if err != nil {
		t.Fatal(err)
	}
	expired := request(node, 7, node.Files(ca, end))
	if _, err := installer.Install(t.Context(), expired); err != nil {
		t.Fatal(err)
	}
	node.WriteData(disktest.Revision{Key: disktest.Key("etcd-signer"), Value: disktest.Encode(t, disktest.Secret(t, "etcd-signer", ca))})
	o := optionsFor(node, now)
	o.Peers = []nodepod.Member{}
	mustRecover(t, o)
	checkInUse(t, o, "7/7")

	found, err := installer.Installed()
	if err != nil || !strings.HasPrefix(found.Manifest.RestartHash, recoveredPrefix) || !strings.HasPrefix(found.Generation.Record.ContentHash, recoveredPrefix) {
		t.Errorf("the installer finds %+v, %v, want what was recovered", found, err)
	}
	if _, err := installer.Install(t.Context(), expired); !errors.Is(err, generation.ErrContent) {
		t.Errorf("the installer with the expired content: %v, want ErrContent", err)
	}
	checkInUse(t, o, "7/7")
	next := disktest.Authority(t, "signer@2", now.Add(disktest.Life/2))
	result, err := installer.Install(t.Context(), request(node, 8, node.Files(next, now.Add(disktest.Life/2))))
	if err != nil || !result.Restart || result.Directory != 8 {
		t.Errorf("the installer with the next revision: %+v, %v", result, err)
	}
	checkInUse(t, o, "8/8")
}

// TestDoctorAgreesWithInstaller: doctor reports no error for what the installer accepts.
func TestDoctorAgreesWithInstaller(t *testing.T) {
	now := time.Now()
	end := now.Add(disktest.Life / 2)
	ca, other := disktest.Authority(t, "signer@1", end), disktest.Authority(t, "other@1", end)
	for name, file := range map[string]struct {
		path string
		data []byte
	}{
		"nothing else":                  {},
		"an authority without a key":    {"secrets/other/ca.crt", other.CertPEM()},
		"a key without a certificate":   {"secrets/other/sa.key", []byte("x")},
		"a file that is no certificate": {"configmaps/other/config.yaml", []byte("x")},
		"a bundle of another authority": {"configmaps/other/ca-bundle.crt", other.CertPEM()},
		"an anchor and its key":         {"secrets/other/tls.crt", ca.CertPEM()},
	} {
		t.Run(name, func(t *testing.T) {
			node := disktest.NewNode(t, "node-0")
			installer, err := generation.Open(nodepod.Layout{Name: "etcd", ResourceDirectory: node.Resources, ManifestDirectory: node.Manifests})
			if err != nil {
				t.Fatal(err)
			}
			files := node.Files(ca, end)
			if file.path != "" {
				files[file.path] = file.data
			}
			if key, err := ca.KeyPEM(); strings.HasSuffix(file.path, "tls.crt") && err == nil {
				files["secrets/other/tls.key"] = key
			}
			if _, err := installer.Install(t.Context(), request(node, 7, files)); err != nil {
				t.Fatal(err)
			}
			o := optionsFor(node, now)
			checkInUse(t, o, "7/7")
		})
	}
}

func request(node *disktest.Node, n int, files map[string][]byte) generation.Request {
	template := node.ManifestText(n)
	text := strings.ReplaceAll(string(template), path.Base(node.Directory(n)), "etcd-pod-"+nodepod.PlaceholderRevision)
	content := nodepod.Content{
		PodTemplate: []byte(text), ConfigMaps: map[string]map[string][]byte{}, Secrets: map[string]map[string][]byte{},
		Reloaded: sets.New("etcd-all-certs"),
	}
	for name, data := range files {
		parts := strings.Split(name, "/")
		kind := content.Secrets
		if parts[0] == "configmaps" {
			kind = content.ConfigMaps
		}
		if kind[parts[1]] == nil {
			kind[parts[1]] = map[string][]byte{}
		}
		kind[parts[1]][parts[2]] = data
	}
	return generation.Request{Content: content, Revision: n, ContentHash: "content", NodeName: node.Name, NodeIP: "127.0.0.1", Permitted: &configv1alpha1.PermittedPod{
		Images: []string{"etcd"}, HostNetwork: true, HostPaths: []string{node.Data},
	}}
}
