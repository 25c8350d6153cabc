// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/injection"
)

// lookAgain is how often is asked whether a kind is served that some configuration names. Nobody names it at rest.
const lookAgain = time.Minute

// service is what is known of a kind that an API server does not have to serve. Its watch begins when it does: one that
// began before would fail for ever.
type service struct {
	// begun is closed when the kind is served.
	begun chan struct{}

	mu sync.Mutex
	// absent says why it cannot be watched, "" if it can or nobody has asked yet.
	absent string
	// named are the namespaces that have a configuration which names it.
	named map[string]bool
}

func newService() *service { return &service{begun: make(chan struct{}), named: map[string]bool{}} }

func (s *service) served() bool {
	select {
	case <-s.begun:
		return true
	default:
		return false
	}
}

// learn notes the answer to whether it is served, which is that it cannot be watched, or "". It says whether that is news.
func (s *service) learn(absent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served() {
		return false
	}
	news := absent != s.absent
	if s.absent = absent; absent == "" {
		close(s.begun)
		return true
	}
	return news
}

// name notes whether a namespace names the kind. It returns why that is of no use, "" if it is not known to be, and whether
// to ask.
func (s *service) name(namespace string, named bool) (absent string, ask bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.named[namespace]
	if named {
		s.named[namespace] = true
	} else {
		delete(s.named, namespace)
	}
	return s.absent, named && !before && !s.served()
}

// namespaces are those that name the kind.
func (s *service) namespaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for namespace := range s.named {
		out = append(out, namespace)
	}
	return out
}

// newServices are the kinds that are watched and need not be served. What kube-apiserver verifies by, it serves.
func (c *Controller) newServices() map[configv1alpha1.InjectionKind]*service {
	out := map[configv1alpha1.InjectionKind]*service{}
	for _, kind := range c.kinds() {
		if !kind.VerifiedByAPIServer() {
			out[kind] = newService()
		}
	}
	return out
}

// awaitService returns when a kind is served or ctx has ended, and says whether it is served.
func (c *Controller) awaitService(ctx context.Context, kind configv1alpha1.InjectionKind) bool {
	s := c.services[kind]
	if s == nil {
		return true
	}
	select {
	case <-s.begun:
		return true
	case <-ctx.Done():
		return false
	}
}

// askFor asks the API server whether it serves a kind. It is asked again while a configuration names one that it does not.
func (c *Controller) askFor(ctx context.Context, kind configv1alpha1.InjectionKind) error {
	s := c.services[kind]
	if s == nil || s.served() {
		return nil
	}
	resource, absent := injection.Resources[kind], ""
	_, err := c.cfg.Metadata.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsNotFound(err):
		absent = injection.NotServed(kind)
	case apierrors.IsForbidden(err):
		absent = err.Error()
	case err != nil:
		return fmt.Errorf("ask whether %s are served: %w", resource.GroupResource(), err)
	}
	news := s.learn(absent)
	// Who names the kind since has learned it too.
	namespaces := s.namespaces()
	if news {
		klog.FromContext(ctx).V(2).Info("Asked whether a kind of target is served", "resource", resource.GroupResource(), "absent", absent)
		for _, namespace := range namespaces {
			c.queue.Add(key{namespace: namespace})
		}
	}
	if absent != "" && len(namespaces) > 0 {
		c.queue.AddAfter(key{kind: kind}, lookAgain)
	}
	return nil
}

// tellConfigurations says on the configurations of a namespace which of their targets are of a kind that cannot be watched.
// There is no target that it could be said on.
func (c *Controller) tellConfigurations(namespace string) {
	held := map[string]string{}
	for kind, s := range c.services {
		naming := c.naming(namespace, kind)
		absent, ask := s.name(namespace, len(naming) > 0)
		if ask {
			c.queue.Add(key{kind: kind})
		}
		for _, name := range naming {
			held[name] = absent
		}
	}
	sources := c.cfg.Inventory.Sources(namespace)
	for _, name := range c.memory.configurations(namespace) {
		if _, naming := held[name]; !naming {
			held[name] = ""
		}
	}
	for name, why := range held {
		if sources != nil && sources.Configurations[name] != nil {
			c.reportConfiguration(namespace, name, sources.Configurations[name].UID, why)
		}
		if why == "" {
			c.memory.forget(configurationTarget(namespace, name))
		}
	}
}

// naming are the configurations of a namespace that name a kind.
func (c *Controller) naming(namespace string, kind configv1alpha1.InjectionKind) []string {
	n := c.cfg.Inventory.Namespace(namespace)
	if n == nil {
		return nil
	}
	var out []string
	for _, d := range n.Domains {
		if !slices.Contains(out, d.Configuration) && slices.ContainsFunc(d.Bundle.InjectInto, func(t target) bool { return t.Kind == string(kind) }) {
			out = append(out, d.Configuration)
		}
	}
	return out
}
