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
	"certrotation.dev/registry/nodedisk"
	"certrotation.dev/registry/revision"
)

// Request asks to install a revision.
type Request struct {
	// Content as this node sees it: the template, all that is read at start, and of reloaded Secrets what this node needs.
	Content  revision.Content
	Revision int
	// ContentHash is that of the whole revision, which a node cannot compute: it is recorded.
	ContentHash string
	// RestartHash is what the hash of Content has to be; "" if the caller does not know.
	RestartHash string
	NodeName    string
	NodeIP      string
	// Permitted is what the StaticPodClass permits of the pod. Without one nothing is installed.
	Permitted *configv1alpha1.PermittedPod
	// Companions is what it permits of each of the companions.
	Companions map[string]*configv1alpha1.PermittedPod
	// Now is what the leaves are not to have expired at; zero if their dates do not matter.
	Now time.Time
}

// Errors of Install that a caller tells apart with errors.Is.
var (
	// ErrNewer: the node has a later revision than the one asked for.
	ErrNewer = errors.New("a more recent revision is on this node")
	// ErrContent: what was asked for must not be installed anywhere; trying again does not help.
	ErrContent = errors.New("the content of the revision is refused")
)

// order is a Request that was checked, with what follows from it.
type order struct {
	Request
	files  map[string][]byte
	leaves []nodedisk.Pair
	record nodedisk.Record
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
	files, err := nodedisk.FilesOf(r.Content)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContent, err)
	}
	content, defects := nodedisk.ParseContent(files)
	if err := defects.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContent, err)
	}
	return &order{Request: r, files: files, leaves: content.Pairs, record: nodedisk.Record{
		Revision: r.Revision, ContentHash: r.ContentHash, RestartHash: hash, Node: r.NodeName, Files: nodedisk.Hashes(files),
	}}, nil
}

// manifest of one of the static pods of the node.
type manifest struct {
	// pod is the layout as that static pod sees it.
	pod  nodedisk.Layout
	text []byte
}

// manifests makes those that mount the directory of a revision, which is not always the revision of the order. That of the
// static pod that the rollout is named after is the last.
func (o *order) manifests(l nodedisk.Layout, n int) ([]manifest, error) {
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
		text, err := revision.Manifest(template, revision.Values{
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
