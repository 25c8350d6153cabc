// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/revision"
)

// maxManifestBytes bounds a manifest; a ConfigMap holds less.
const maxManifestBytes = 4 << 20

// Manifest is one that the installer has made.
type Manifest struct {
	// Revision whose directory it mounts.
	Revision    int
	RestartHash string
	Pod         *corev1.Pod
}

// readManifest reads a manifest. Without an error there is one, and it mounts the directory of the revision that it names.
func (l Layout) readManifest(fsys fileSystem, name string) (*Manifest, error) {
	mode, err := fsys.Mode(name)
	if notExist(err) {
		return nil, finding(NoManifest, name, "there is none")
	}
	if err != nil {
		return nil, finding(Unreadable, name, "it cannot be looked at: %v", err)
	}
	if mode.Type() != 0 {
		return nil, finding(BadManifest, name, "it is no plain file: %v", mode)
	}
	text, err := fsys.ReadFile(name, maxManifestBytes)
	if err != nil {
		return nil, finding(Unreadable, name, "it cannot be read: %v", err)
	}
	m, err := l.parseManifest(text)
	if err != nil {
		return nil, finding(BadManifest, name, "the installer has not made it: %v", err)
	}
	return m, nil
}

// checkManifestMode finds a manifest that others than its owner may use.
func checkManifestMode(fsys fileSystem, name string) []Finding {
	if mode, err := fsys.Mode(name); err == nil && mode.IsRegular() && mode != fileMode {
		return []Finding{finding(WrongMode, path.Base(name), "its mode is %v, want %v", mode, fileMode)}
	}
	return nil
}

func (l Layout) parseManifest(text []byte) (*Manifest, error) {
	pod, err := revision.ParsePod(text)
	if err != nil {
		return nil, err
	}
	n, ok := revision.ParseNumber(pod.Annotations[revision.AnnotationRevision])
	if !ok {
		return nil, fmt.Errorf("annotation %s is %q", revision.AnnotationRevision, pod.Annotations[revision.AnnotationRevision])
	}
	if !mounts(pod, l.hostDirectory(n)) {
		return nil, fmt.Errorf("it says that it is of revision %d, and does not mount %s", n, l.hostDirectory(n))
	}
	return &Manifest{Revision: n, RestartHash: pod.Annotations[revision.AnnotationRestartHash], Pod: pod}, nil
}

func mounts(pod *corev1.Pod, dir string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.HostPath != nil && path.Clean(v.HostPath.Path) == dir
	})
}

// named are the revisions whose directories a manifest mentions in any way, even if it cannot be parsed, or belongs to
// somebody else.
func (l Layout) named(text []byte) map[int]bool {
	out := map[int]bool{}
	mention := regexp.MustCompile(regexp.QuoteMeta(revision.PodName(l.Name)) + `-([0-9]+)`)
	for _, match := range mention.FindAllSubmatch(text, -1) {
		if n, ok := revision.ParseNumber(string(match[1])); ok {
			out[n] = true
		}
	}
	return out
}

// isDirectory tells whether there is a directory of that name, which is no link to one.
func isDirectory(fsys fileSystem, name string) (bool, error) {
	mode, err := fsys.Mode(name)
	if notExist(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", name, err)
	}
	if mode.Type() != fs.ModeDir {
		return false, fmt.Errorf("%s is no directory (%v): move it away", name, mode)
	}
	return true, nil
}
