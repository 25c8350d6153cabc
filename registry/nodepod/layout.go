// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Layout is where the files of a static pod are.
type Layout struct {
	// ResourceDirectory holds NAME-pod-R; ManifestDirectory is where kubelet finds static pods. Both are absolute
	// paths.
	ResourceDirectory, ManifestDirectory string
	// HostResourceDirectory is the path of ResourceDirectory on the node, for the hostPath of manifests. Defaults to
	// ResourceDirectory.
	HostResourceDirectory string
	// Name of the rollout, such as etcd.
	Name string
	// ManifestFile is the name of the manifest. Defaults to NAME-pod.yaml.
	ManifestFile string
	// Companions are further static pods of the node that mount the same directories.
	Companions []Companion
}

// Companion is a static pod that a revision brings together with the rollout's own.
type Companion struct {
	// Name of the static pod, such as kube-apiserver, and the file name of its manifest.
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
	// staging ends the names of files being written, removing those of files being removed. Both kinds of names begin
	// with a dot, so kubelet ignores them.
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

// Pods returns the layout for each static pod of the node; they differ in the name of the manifest. The rollout's own
// pod is last.
func (l Layout) Pods() []Layout {
	out := make([]Layout, 0, len(l.Companions)+1)
	for _, c := range l.Companions {
		pod := l
		pod.ManifestFile, pod.Companions = cmp.Or(c.ManifestFile, TemplateName(c.Name)+".yaml"), nil
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

// ManifestName is the name of the manifest in both of its directories.
func (l Layout) ManifestName() string {
	return cmp.Or(l.ManifestFile, TemplateName(l.Name)+".yaml")
}

// Manifest is the path of the manifest that kubelet runs.
func (l Layout) Manifest() string { return filepath.Join(l.ManifestDirectory, l.ManifestName()) }

// LockName is the name of the lock file in the resource directory, which a writer holds locked.
func (l Layout) LockName() string { return TemplateName(l.Name) + ".lock" }

// DirectoryName is the name of the directory of revision n.
func (l Layout) DirectoryName(n int) string { return DirectoryName(l.Name, n) }

// HostDirectory is the host path that the manifest of revision n mounts.
func (l Layout) HostDirectory(n int) string { return path.Join(l.hostResources(), l.DirectoryName(n)) }

// ParseDirectoryName parses NAME-pod-R. ours reports whether the name has our prefix; ok whether R is a revision.
func (l Layout) ParseDirectoryName(name string) (n int, ours, ok bool) {
	text, ours := strings.CutPrefix(name, TemplateName(l.Name)+"-")
	if !ours {
		return 0, false, false
	}
	n, ok = ParseNumber(text)
	return n, true, ok
}

// SetAsideName is the name of the directory for what a recovery replaces.
func (l Layout) SetAsideName(time string) string {
	return TemplateName(l.Name) + "-" + setAside + time
}

// GenerationName is the name of the directory of generation n.
func GenerationName(n int) string { return generationPrefix + strconv.Itoa(n) }

// ParseGenerationName parses generation-M.
func ParseGenerationName(name string) (int, bool) {
	text, ok := strings.CutPrefix(name, generationPrefix)
	if !ok {
		return 0, false
	}
	return ParseNumber(text)
}

// Staged is the name under which name is written, in the same directory.
func Staged(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+staging)
}

// Removed is the name under which name is removed, in the same directory.
func Removed(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+removing)
}

// IsLeftover reports whether a name has the form that Staged or Removed makes. Unless a writer is at work, an
// interrupted run has left the file.
func IsLeftover(name string) bool {
	return strings.HasPrefix(name, ".") && (strings.HasSuffix(name, staging) || strings.HasSuffix(name, removing))
}

// IsLeftover reports whether a name in the resource directory is a leftover of this static pod, and not of another
// one.
func (l Layout) IsLeftover(name string) bool {
	if !IsLeftover(name) {
		return false
	}
	_, _, ok := l.ParseDirectoryName(strings.TrimSuffix(strings.TrimSuffix(name[1:], staging), removing))
	return ok
}
