// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
)

// Request asks to install a revision.
type Request struct {
	// Content as this node sees it: the template, everything read at start, and this node's part of reloaded Secrets.
	Content  nodepod.Content
	Revision int
	// ContentHash of the whole revision. A node cannot compute it and only records it.
	ContentHash string
	// RestartHash is the expected hash of Content. It is empty if the caller does not know it.
	RestartHash string
	NodeName    string
	NodeIP      string
	// Permitted is what the StaticPodClass permits of the pod. Without it nothing is installed.
	Permitted *configv1alpha1.PermittedPod
	// Companions is what the StaticPodClass permits of each companion.
	Companions map[string]*configv1alpha1.PermittedPod
	// Now is the time at which the leaves must be valid. If zero, their expiry is not checked.
	Now time.Time
}

// Errors of Install for errors.Is.
var (
	// ErrNewer: the node has a later revision than the requested one.
	ErrNewer = errors.New("a more recent revision is on this node")
	// ErrContent: the revision must not be installed on any node. A retry does not help.
	ErrContent = errors.New("the content of the revision is refused")
)

// order is a checked Request with what follows from it.
type order struct {
	Request
	files  map[string][]byte
	leaves []nodepod.Pair
	record nodepod.Record
}

func (r Request) check() (*order, error) {
	if r.Revision < 1 {
		return nil, fmt.Errorf("%w: revision %d: want 1 or more", ErrContent, r.Revision)
	}
	if faults := validation.IsDNS1123Subdomain(r.NodeName); len(faults) > 0 {
		return nil, fmt.Errorf("%w: node name %q: %s", ErrContent, r.NodeName, strings.Join(faults, "; "))
	}
	hash := r.Content.RestartHash()
	if r.RestartHash != "" && r.RestartHash != hash {
		return nil, fmt.Errorf("%w: its restart hash is %s, want %s: the mounted objects are not those of revision %d", ErrContent, hash, r.RestartHash, r.Revision)
	}
	r.RestartHash = hash
	files, err := nodepod.FilesOf(r.Content)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContent, err)
	}
	content, defects := nodepod.ParseContent(files)
	if err := defects.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContent, err)
	}
	return &order{Request: r, files: files, leaves: content.Pairs, record: nodepod.Record{
		Revision: r.Revision, ContentHash: r.ContentHash, RestartHash: hash, Node: r.NodeName, Files: nodepod.Hashes(files),
	}}, nil
}

type manifest struct {
	// pod is the layout as seen by that static pod.
	pod  nodepod.Layout
	text []byte
}

// manifests renders the manifests that mount the directory of revision n, which may differ from the order's revision.
// The manifest of the rollout's namesake static pod comes last.
func (o *order) manifests(l nodepod.Layout, n int) ([]manifest, error) {
	pods, out := l.Pods(), make([]manifest, 0, len(l.Companions)+1)
	if len(o.Content.Companions) != len(l.Companions) {
		return nil, fmt.Errorf("%w: it has the templates of %d companions, want %d", ErrContent, len(o.Content.Companions), len(l.Companions))
	}
	for i, pod := range pods {
		template, permitted, of := o.Content.PodTemplate, o.Permitted, l.Name
		if i < len(l.Companions) {
			of = l.Companions[i].Name
			template, permitted = o.Content.Companions[of], o.Companions[of]
		}
		text, err := nodepod.RenderManifest(template, nodepod.Values{
			Revision: n, NodeName: o.NodeName, NodeIP: o.NodeIP, RestartHash: o.RestartHash, Directory: l.HostDirectory(n),
			Permitted: permitted,
		})
		if err != nil {
			return nil, fmt.Errorf("%w: static pod %s: %w", ErrContent, of, err)
		}
		out = append(out, manifest{pod: pod, text: text})
	}
	return out, nil
}
