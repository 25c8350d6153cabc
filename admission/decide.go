// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// judgement is the result of judging an edit against one state of the namespace.
type judgement struct {
	// violations of invariants, as the model reports them.
	violations []trust.Violation
	// problems that the edit adds to a configuration.
	problems []trust.Problem
	// risky means that the edit removes something that an object not yet in the view may need.
	risky bool
	// warnings for the user, if the edit is allowed.
	warnings []string
}

func (f *judgement) refused() bool { return len(f.violations)+len(f.problems) > 0 }

// state is one state of the namespace of a review: its facts, and what was built of them, nil without a configuration.
type state struct {
	sources *inventory.Sources
	built   *inventory.Namespace
}

// question judges an edit, given a state of the namespace. decide may call it twice, so it must keep no state.
type question func(at *state) judgement

// before returns the namespace as it was before an edit of an object, whose former version is old. That is nearly
// always as it was built already.
func (at *state) before(kind trust.ObjectKind, name string, old *metav1.ObjectMeta, build func() *inventory.Namespace) *inventory.Namespace {
	if at.sources.Has(kind, name, old) {
		return at.built
	}
	return build()
}

// decide judges by the shared view. It confirms a denial, or the permission of a loss, with live reads.
func (h *Handler) decide(ctx context.Context, req *admissionv1.AdmissionRequest, fields []string, ask question) (*verdict, error) {
	f := ask(h.shared(req.Namespace))
	if !f.refused() && !f.risky {
		return &verdict{warnings: f.warnings}, nil
	}
	goes := req.Operation == admissionv1.Delete || slices.Contains(fields, finalizersField)
	if f.refused() && goes && h.terminating(ctx, req.Namespace) {
		return allowed(), nil
	}

	live, err := h.live(ctx, req.Namespace)
	switch {
	case err == nil:
		f = ask(live)
	case f.refused():
		klog.FromContext(ctx).Error(err, "Denied an edit without a live read", "namespace", req.Namespace)
	default:
		return nil, fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	v := &verdict{warnings: f.warnings}
	if f.refused() {
		v = deny(f, fields)
	}
	v.confirmed = err == nil
	return v, nil
}

// shared returns the state of the namespace that the shared view has.
func (h *Handler) shared(namespace string) *state {
	if n := h.inventory.Namespace(namespace); n != nil {
		return &state{sources: n.Sources(), built: n}
	}
	if s := h.inventory.Sources(namespace); s != nil {
		return &state{sources: s}
	}
	return &state{sources: &inventory.Sources{Namespace: namespace}}
}

// live returns the state of the namespace from a read of the API server that began after the call.
func (h *Handler) live(ctx context.Context, namespace string) (*state, error) {
	ctx, cancel := context.WithTimeout(ctx, h.liveTimeout)
	defer cancel()
	return h.reads.read(ctx, namespace)
}

// readLive reads once. Other reviews may wait for the result, so the end of the first caller's context does not stop
// it.
func (h *Handler) readLive(ctx context.Context, namespace string) (*state, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.liveTimeout)
	defer cancel()
	s, err := h.inventory.Live(ctx, namespace)
	h.metrics.observeLive(err)
	if err != nil {
		return nil, err
	}
	return &state{sources: s, built: inventory.Build(s)}, nil
}

// terminating reports whether the namespace is being deleted: then nothing in it is worth protecting. It reads live,
// and only before a deletion is denied. The namespace controller is allowed by its user name, but in some clusters
// kube-controller-manager uses one identity for everything.
func (h *Handler) terminating(ctx context.Context, namespace string) bool {
	if h.client == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, h.liveTimeout)
	defer cancel()
	ns, err := h.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return ns.DeletionTimestamp != nil
}
