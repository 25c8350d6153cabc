// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/trust"
)

// obstacle keeps a copy from being made until a person acts. The worker retries it.
type obstacle struct {
	text string
	// nowhere says that the namespace of the copy does not exist, and so neither does the copy.
	nowhere bool
}

func (o *obstacle) Error() string { return o.text }

func obstruct(format string, args ...any) *obstacle {
	return &obstacle{text: fmt.Sprintf(format, args...)}
}

func obstacleOf(err error) *obstacle {
	if o := (*obstacle)(nil); errors.As(err, &o) {
		return o
	}
	return nil
}

// forbidden is why the configuration may not have a copy at its target, nil if it may.
func (c *Controller) forbidden(t *task) *obstacle {
	k := t.key
	if k.within() {
		// The configuration has claimed the object, or it would not take effect.
		return nil
	}
	if !c.watches.covers(k.namespace) {
		return obstruct("namespace %s is not among the --namespaces of the controller", k.namespace)
	}
	n := c.inventory.Namespace(k.namespace)
	if n == nil {
		return nil
	}
	if claim, ok := n.Claim(trust.ObjectKind(k.kind), k.name); ok {
		return obstruct("%s/%s belongs to a configuration of namespace %s, as a %s; choose another toName", k.kind, k.name, k.namespace, claim.Kind)
	}
	return nil
}

func nowhere(t target) *obstacle {
	return &obstacle{text: t.place() + " does not exist; the copy is made when it does", nowhere: true}
}

// uncreated explains a failed creation of a copy. It returns other errors unchanged.
func uncreated(t *task, err error) error {
	var failed *apply.WriteError
	switch {
	case !errors.As(err, &failed) || failed.Verb != apply.VerbCreate:
	case apierrors.IsNotFound(err):
		return nowhere(t.key.target)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return obstruct("%s is being deleted", t.key.place())
	}
	return err
}

func waitsFor(blockers []trust.Blocker) string {
	texts := make([]string, 0, len(blockers))
	for i := range blockers {
		texts = append(texts, fmt.Sprintf("%s (%s)", &blockers[i], blockers[i].Reason))
	}
	return "the source is not copied: " + strings.Join(texts, "; ")
}

// keeps is the text about anchors that the copy keeps although its source lost them, "" if there are none.
func keeps(a *trust.CopyAssessment) string {
	texts := make([]string, 0, len(a.Kept))
	for _, k := range a.Kept {
		texts = append(texts, fmt.Sprintf("%s, needed by %s", k.Certificate.Subject, strings.Join(k.NeededBy, ", ")))
	}
	if len(texts) == 0 {
		return ""
	}
	return "the copy keeps what its source has lost: " + strings.Join(texts, "; ")
}
