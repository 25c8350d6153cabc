// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
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
}

// Names within the directory of a revision: the pointer, the record of a generation, and how a generation begins.
const (
	PointerName = "current"
	RecordName  = "generation.json"
	Prefix      = "generation-"
)

const (
	// staging ends names of what is being written, removing of what is being removed; both begin with a dot.
	staging  = ".staging"
	removing = ".removing"
)

func (l Layout) check() error {
	if faults := validation.IsDNS1123Subdomain(l.Name); len(faults) > 0 {
		return fmt.Errorf("name of the rollout %q: %s", l.Name, strings.Join(faults, "; "))
	}
	for what, dir := range map[string]string{
		"resource": l.ResourceDirectory, "manifest": l.ManifestDirectory, "resource (on the host)": l.HostResourceDirectory,
	} {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || dir == "/" {
			return fmt.Errorf("%s directory %q: want an absolute path without . or .. or a slash at its end", what, dir)
		}
	}
	return nil
}

// manifestName is the name of the manifest, in both of its directories.
func (l Layout) manifestName() string { return revision.PodName(l.Name) + ".yaml" }

func (l Layout) lockName() string { return revision.PodName(l.Name) + ".lock" }

func (l Layout) directory(n int) string { return revision.DirectoryName(l.Name, n) }

// hostDirectory is what the manifest of revision n mounts.
func (l Layout) hostDirectory(n int) string {
	return path.Join(l.HostResourceDirectory, l.directory(n))
}

// revisionOf reads the name of a directory NAME-pod-R. It is ours if it begins as one; ok tells if R is a revision.
func (l Layout) revisionOf(name string) (n int, ours, ok bool) {
	text, ours := strings.CutPrefix(name, revision.PodName(l.Name)+"-")
	if !ours {
		return 0, false, false
	}
	n, ok = revision.ParseNumber(text)
	return n, true, ok
}

// Name of the directory of generation n.
func Name(n int) string { return Prefix + strconv.Itoa(n) }

func parseGenerationName(name string) (int, bool) {
	text, ok := strings.CutPrefix(name, Prefix)
	if !ok {
		return 0, false
	}
	return revision.ParseNumber(text)
}

// staged is the name under which name is prepared beside its place.
func staged(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+staging)
}

// removed is the name under which name is taken apart.
func removed(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+removing)
}

// leftover tells whether a name is one of the two above.
func leftover(name string) bool {
	return strings.HasPrefix(name, ".") && (strings.HasSuffix(name, staging) || strings.HasSuffix(name, removing))
}
