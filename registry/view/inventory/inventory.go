// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"certrotation.dev/registry/pki"
)

// Options of an Inventory.
type Options struct {
	// PKICacheEntries is how many parsed PEMs are shared. Defaults to 32768.
	PKICacheEntries int
}

// Inventory watches a cluster and answers with the facts of its namespaces.
type Inventory struct {
	client kubernetes.Interface
	meta   metadata.Interface
	certs  *pki.Cache
}

// New returns an Inventory over two clients of one cluster: meta reads only the metadata of Secrets that are no
// certificates, so that their content is never transferred.
func New(client kubernetes.Interface, meta metadata.Interface, opts Options) (*Inventory, error) {
	return &Inventory{client: client, meta: meta, certs: pki.NewCache(opts.PKICacheEntries)}, nil
}

// OnChange has fn called after each change of what is known of a namespace; a change of a node counts for each
// namespace with a configuration. It must be called before Start. fn runs on an informer's goroutine and must not block.
func (i *Inventory) OnChange(fn func(namespace string)) {}

// Start runs the informers until ctx ends, and returns.
func (i *Inventory) Start(ctx context.Context) {}

// Wait returns when everything that Start has started has ended.
func (i *Inventory) Wait() {}

// HasSynced says whether everything has been listed once and every change of that has been announced.
func (i *Inventory) HasSynced() bool { return false }

// WaitForSync waits for HasSynced. It fails when ctx ends first.
func (i *Inventory) WaitForSync(ctx context.Context) error { return nil }

// Namespaces are those with at least one configuration, ordered.
func (i *Inventory) Namespaces() []string { return nil }

// Sources returns what is known of a namespace, nil if nothing is.
func (i *Inventory) Sources(namespace string) *Sources { return nil }

// Namespace returns Build of the namespace's Sources, nil if it has no configuration. The answer is kept until a source
// changes.
func (i *Inventory) Namespace(namespace string) *Namespace { return nil }

// Live returns the Sources of a namespace from the API server itself, for decisions that cannot be undone.
func (i *Inventory) Live(ctx context.Context, namespace string) (*Sources, error) { return nil, nil }
