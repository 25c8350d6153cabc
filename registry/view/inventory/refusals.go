// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

// refusals are the sources of one namespace, or of the cluster, that certrotation cannot read. The API server refuses
// them (403), or does not know them because their definition is not installed (404). Either may change at any time:
// the informers retry in increasing intervals, and report here.
type refusals struct {
	// namespace is "" for the cluster.
	namespace string
	gauge     *metrics.GaugeVec

	mu sync.Mutex
	// errs by source and verb.
	errs map[refusal]error
	// turned is closed, and replaced, whenever errs changes.
	turned chan struct{}
	over   bool
}

// refusal is of a list or a watch. Sources may share a name, as those of the pods of several selectors do.
type refusal struct {
	source *source
	verb   string
}

// newRefusals returns the refusals of the cluster.
func newRefusals() *refusals {
	return &refusals{
		gauge: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Namespace: "certrotation", Name: "reads_refused",
			Help:           "1 for what the API server does not let us read, of a namespace that is managed or of the cluster (namespace \"\").",
			StabilityLevel: metrics.ALPHA,
		}, []string{"namespace", "source"}),
		errs: map[refusal]error{}, turned: make(chan struct{}),
	}
}

// of returns the refusals of a namespace, with the gauge of r.
func (r *refusals) of(namespace string) *refusals {
	return &refusals{namespace: namespace, gauge: r.gauge, errs: map[refusal]error{}, turned: make(chan struct{})}
}

// report returns a function that receives the result of each list and watch of a source. It logs a refusal once, when
// it begins.
func (r *refusals) report(s *source) func(ctx context.Context, verb string, err error) {
	return func(ctx context.Context, verb string, err error) {
		switch {
		case err == nil:
			if r.accept(s, verb) {
				klog.FromContext(ctx).Info("What was refused may be read now", "namespace", r.namespace, "source", s.name)
			}
		case apierrors.IsForbidden(err):
			if r.refuse(s, verb, err) {
				klog.FromContext(ctx).Error(err, "The API server refuses a read; it is tried again until it is granted",
					"namespace", r.namespace, "source", s.name)
			}
		case apierrors.IsNotFound(err):
			undefined := fmt.Errorf("%w: install the definitions (kubectl apply -k manifests/crds)", err)
			if r.refuse(s, verb, undefined) {
				klog.FromContext(ctx).Error(undefined, "The API server does not know a resource; it is tried again until it does",
					"namespace", r.namespace, "source", s.name)
			}
		}
	}
}

// refuse reports whether this is the first refusal of any source.
func (r *refusals) refuse(s *source, verb string, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	first := len(r.errs) == 0
	r.errs[refusal{s, verb}] = err
	r.gauge.WithLabelValues(r.namespace, s.name).Set(1)
	r.turn()
	return first
}

// accept reports whether this was the last refusal. It may follow a watch alone, which can serve as a list.
func (r *refusals) accept(s *source, verb string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.errs)
	delete(r.errs, refusal{s, verb})
	if verb == "watch" {
		delete(r.errs, refusal{s, "list"})
	}
	if len(r.errs) == before {
		return false
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(r.errs)), func(other refusal) bool { return other.source.name == s.name }) {
		r.clear(s.name)
	}
	r.turn()
	return len(r.errs) == 0
}

// end drops all refusals and ignores later reports.
func (r *refusals) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for refused := range r.errs {
		r.clear(refused.source.name)
	}
	clear(r.errs)
	r.turn()
}

// clear ends the refusal in the metric. The few series of the cluster stay, at 0, so that alerts can rely on them.
func (r *refusals) clear(source string) {
	if r.namespace == "" {
		r.gauge.WithLabelValues("", source).Set(0)
		return
	}
	r.gauge.Delete(map[string]string{"namespace": r.namespace, "source": source})
}

// turn must be called with the lock held.
func (r *refusals) turn() {
	close(r.turned)
	r.turned = make(chan struct{})
}

// state returns one of the errors, nil if nothing is refused, and a channel that closes when that changes.
func (r *refusals) state() (turned <-chan struct{}, refused error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.errs {
		return r.turned, err
	}
	return r.turned, nil
}

// watchFailed does not log the errors that refusals logs.
func watchFailed(ctx context.Context, reflector *cache.Reflector, err error) {
	if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		cache.DefaultWatchErrorHandler(ctx, reflector, err)
	}
}
