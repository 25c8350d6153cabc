// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodedisk

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/registry/revision"
)

// Layout says where the files of a static pod are.
type Layout struct {
	// ResourceDirectory holds NAME-pod-R, ManifestDirectory is where kubelet finds static pods. Absolute paths.
	ResourceDirectory, ManifestDirectory string
	// HostResourceDirectory is where the node has ResourceDirectory, for the hostPath of manifests. Defaults to
	// ResourceDirectory.
	HostResourceDirectory string
	// Name of the rollout, such as etcd.
	Name string
	// ManifestFile is the name of the manifest. Defaults to NAME-pod.yaml.
	ManifestFile string
	// Companions are further static pods of the node, which mount the same directories.
	Companions []Companion
}

// Companion is a static pod that a revision brings together with the one that the rollout is named after.
type Companion struct {
	// Name of the static pod, such as kube-apiserver, and of the file with its manifest.
	Name, ManifestFile string
}

// Names within the directory of a revision: the pointer, and the record of a generation.
const (
	PointerName = "current"
	RecordName  = "generation.json"
)

const (
	generationPrefix = "generation-"
	// setAside is in the names of directories with what a recovery has replaced.
	setAside = "set-aside-"
	// staging ends names of what is being written, removing of what is being removed; both begin with a dot, which kubelet
	// passes over.
	staging  = ".staging"
	removing = ".removing"
)

// Check refuses names and paths that could lead elsewhere.
func (l Layout) Check() error {
	if faults := validation.IsDNS1123Subdomain(l.Name); len(faults) > 0 {
		return fmt.Errorf("name of the rollout %q: %s", l.Name, strings.Join(faults, "; "))
	}
	for what, dir := range map[string]string{
		"resource": l.ResourceDirectory, "manifest": l.ManifestDirectory, "resource (on the host)": l.hostResources(),
	} {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || dir == "/" {
			return fmt.Errorf("%s directory %q: want an absolute path without . or .. or a slash at its end", what, dir)
		}
	}
	files := map[string]bool{}
	for _, pod := range l.Pods() {
		file := pod.ManifestName()
		if filepath.Base(file) != file || strings.HasPrefix(file, ".") || !strings.HasSuffix(file, ".yaml") {
			return fmt.Errorf("manifest %q: want the name of a file that ends in .yaml and does not begin with a dot", file)
		}
		if files[file] {
			return fmt.Errorf("manifest %s: two static pods cannot have the same", file)
		}
		files[file] = true
	}
	return nil
}

// Pods are the layout as each static pod of the node sees it, which differs in the name of the manifest. The one that the
// rollout is named after is the last.
func (l Layout) Pods() []Layout {
	out := make([]Layout, 0, len(l.Companions)+1)
	for _, c := range l.Companions {
		pod := l
		pod.ManifestFile, pod.Companions = cmp.Or(c.ManifestFile, revision.PodName(c.Name)+".yaml"), nil
		out = append(out, pod)
	}
	return append(out, l)
}

func (l Layout) hostResources() string {
	if l.HostResourceDirectory == "" {
		return l.ResourceDirectory
	}
	return l.HostResourceDirectory
}

// ManifestName is the name of the manifest, in both of its directories.
func (l Layout) ManifestName() string {
	return cmp.Or(l.ManifestFile, revision.PodName(l.Name)+".yaml")
}

// Manifest is the path of the one that kubelet runs.
func (l Layout) Manifest() string { return filepath.Join(l.ManifestDirectory, l.ManifestName()) }

// LockName is the name of the file in the resource directory that whoever writes has locked.
func (l Layout) LockName() string { return revision.PodName(l.Name) + ".lock" }

// DirectoryName is the name of the directory of revision n.
func (l Layout) DirectoryName(n int) string { return revision.DirectoryName(l.Name, n) }

// HostDirectory is what the manifest of revision n mounts.
func (l Layout) HostDirectory(n int) string { return path.Join(l.hostResources(), l.DirectoryName(n)) }

// ParseDirectoryName reads NAME-pod-R. The name is ours if it begins so; ok tells if R is a revision.
func (l Layout) ParseDirectoryName(name string) (n int, ours, ok bool) {
	text, ours := strings.CutPrefix(name, revision.PodName(l.Name)+"-")
	if !ours {
		return 0, false, false
	}
	n, ok = revision.ParseNumber(text)
	return n, true, ok
}

// SetAsideName is the name of the directory that gets what a recovery replaces.
func (l Layout) SetAsideName(time string) string {
	return revision.PodName(l.Name) + "-" + setAside + time
}

// GenerationName is the name of the directory of generation n.
func GenerationName(n int) string { return generationPrefix + strconv.Itoa(n) }

// ParseGenerationName reads generation-M.
func ParseGenerationName(name string) (int, bool) {
	text, ok := strings.CutPrefix(name, generationPrefix)
	if !ok {
		return 0, false
	}
	return revision.ParseNumber(text)
}

// Staged is the name under which name is prepared beside its place.
func Staged(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+staging)
}

// Removed is the name under which name is taken apart.
func Removed(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+removing)
}

// IsLeftover tells whether a name is one that Staged or Removed makes: if nobody writes, an interrupted run has left it.
func IsLeftover(name string) bool {
	return strings.HasPrefix(name, ".") && (strings.HasSuffix(name, staging) || strings.HasSuffix(name, removing))
}

// IsLeftover tells whether a name in the resource directory is a leftover of this static pod, and not of another one.
func (l Layout) IsLeftover(name string) bool {
	if !IsLeftover(name) {
		return false
	}
	_, _, ok := l.ParseDirectoryName(strings.TrimSuffix(strings.TrimSuffix(name[1:], staging), removing))
	return ok
}
