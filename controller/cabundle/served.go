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

// lookAgain is how often the controller asks whether a kind is served that a configuration names. At rest no
// configuration names such a kind.
const lookAgain = time.Minute

// service is the state of a kind that an API server need not serve. Its watch begins only once the kind is served: an
// earlier watch would fail for ever.
type service struct {
	// begun is closed when the kind is served.
	begun chan struct{}

	mu sync.Mutex
	// absent is why the kind cannot be watched, "" if it can or the API server was not asked yet.
	absent string
	// named are the namespaces with a configuration that names the kind.
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

// learn records why the kind cannot be watched, "" if it is served. It reports whether that is new.
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

// name records whether a namespace names the kind. It returns why the kind cannot be watched, "" if it can or that is
// unknown, and whether to ask the API server.
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

func (s *service) namespaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for namespace := range s.named {
		out = append(out, namespace)
	}
	return out
}

// newServices returns the watched kinds that need not be served. kube-apiserver always serves the kinds that it
// verifies by itself.
func (c *Controller) newServices() map[configv1alpha1.InjectionKind]*service {
	out := map[configv1alpha1.InjectionKind]*service{}
	for _, kind := range c.kinds() {
		if !kind.VerifiedByAPIServer() {
			out[kind] = newService()
		}
	}
	return out
}

// awaitService waits until a kind is served or ctx ends, and reports whether it is served.
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

// askFor asks the API server whether it serves a kind. It asks again while a configuration names an absent kind.
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
	// A namespace that names the kind from now on gets the new answer from name.
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

// tellConfigurations reports, on the configurations of a namespace, which of their targets have a kind that cannot be
// watched. There is no target to report on.
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
