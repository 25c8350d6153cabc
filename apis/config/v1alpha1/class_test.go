// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"
)

func TestLoadClass(t *testing.T) {
	valid := func() *StaticPodClassSpec {
		return &StaticPodClassSpec{
			Namespaces: []string{"openshift-etcd"}, PodName: "etcd", Image: "registry:5000/certrotation@sha256:" + strings.Repeat("0", 64),
			Pod:        PermittedPod{Images: []string{"etcd"}, HostPaths: []string{"/var/lib/etcd", "/etc/kubernetes/etcd-member"}},
			Companions: []PermittedCompanion{{PodName: "kube-apiserver", Pod: PermittedPod{Images: []string{"kube-apiserver"}, HostPaths: []string{"/etc/kubernetes/pki"}}}},
		}
	}
	loaded, err := LoadClass(valid())
	if err != nil || loaded.ResourceDirectory != DefaultResourceDirectory || loaded.ManifestDirectory != DefaultManifestDirectory {
		t.Fatalf("valid: %+v, %v", loaded, err)
	}
	if loaded.ManifestFile != "etcd-pod.yaml" || loaded.Companion("kube-apiserver").ManifestFile != "kube-apiserver-pod.yaml" {
		t.Errorf("manifests %s and %s", loaded.ManifestFile, loaded.Companion("kube-apiserver").ManifestFile)
	}
	if loaded.Permitted("etcd") != &loaded.Pod || loaded.Permitted("kube-apiserver") != &loaded.Companions[0].Pod || loaded.Permitted("other") != nil {
		t.Error("a static pod is not permitted what the class says of it")
	}
	for name, tc := range map[string]struct {
		edit func(*StaticPodClassSpec)
		want string
	}{
		"no namespace":            {func(c *StaticPodClassSpec) { c.Namespaces = nil }, "spec.namespaces"},
		"a pod that climbs":       {func(c *StaticPodClassSpec) { c.PodName = "../etcd" }, "spec.podName"},
		"a tag":                   {func(c *StaticPodClassSpec) { c.Image = "certrotation:1" }, "spec.image"},
		"a short digest":          {func(c *StaticPodClassSpec) { c.Image = "certrotation@sha256:00" }, "spec.image"},
		"two digests":             {func(c *StaticPodClassSpec) { c.Image = "a@" + c.Image }, "spec.image"},
		"no image of the pod":     {func(c *StaticPodClassSpec) { c.Pod.Images = nil }, "spec.pod.images"},
		"a relative directory":    {func(c *StaticPodClassSpec) { c.ResourceDirectory = "etc" }, "spec.resourceDirectory"},
		"a directory that climbs": {func(c *StaticPodClassSpec) { c.ManifestDirectory = "/etc/../etc" }, "spec.manifestDirectory"},
		"the root":                {func(c *StaticPodClassSpec) { c.ResourceDirectory = "/" }, "spec.resourceDirectory"},
		"one directory for both":  {func(c *StaticPodClassSpec) { c.ResourceDirectory = DefaultManifestDirectory }, "must neither contain"},
		"one in the other":        {func(c *StaticPodClassSpec) { c.ResourceDirectory = DefaultManifestDirectory + "/x" }, "must neither contain"},
		"a slash at the end":      {func(c *StaticPodClassSpec) { c.Pod.HostPaths[0] = "/var/lib/etcd/" }, "spec.pod.hostPaths[0]"},
		"one below the other":     {func(c *StaticPodClassSpec) { c.Pod.HostPaths[1] = "/var/lib/etcd/backup" }, "could replace the other"},
		"the manifests":           {func(c *StaticPodClassSpec) { c.Pod.HostPaths[1] = DefaultManifestDirectory }, "which belongs to the installer"},
		"a manifest elsewhere":    {func(c *StaticPodClassSpec) { c.ManifestFile = "../etcd.yaml" }, "spec.manifestFile"},
		"a hidden manifest":       {func(c *StaticPodClassSpec) { c.ManifestFile = ".etcd.yaml" }, "spec.manifestFile"},
		"a manifest of any kind":  {func(c *StaticPodClassSpec) { c.Companions[0].ManifestFile = "x" }, "spec.companions[0].manifestFile"},
		"one manifest for two":    {func(c *StaticPodClassSpec) { c.Companions[0].ManifestFile = "etcd-pod.yaml" }, "spec.companions[0].manifestFile"},
		"two of one name":         {func(c *StaticPodClassSpec) { c.Companions[0].PodName = "etcd" }, "spec.companions[0].podName"},
		"a companion of no image": {func(c *StaticPodClassSpec) { c.Companions[0].Pod.Images = nil }, "spec.companions[0].pod.images"},
		"below that of another":   {func(c *StaticPodClassSpec) { c.Companions[0].Pod.HostPaths[0] = "/var/lib/etcd/x" }, "could replace the other"},
		"above the manifests":     {func(c *StaticPodClassSpec) { c.Pod.HostPaths = []string{"/etc"} }, "could replace the other"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := valid()
			tc.edit(spec)
			if _, err := LoadClass(spec); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}
