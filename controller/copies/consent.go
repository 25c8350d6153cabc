// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

// consented returns nil if the copy may be written. live is what is there, nil if nothing is.
//
// Whoever may write a configuration must not be able to have us write what they may not write themselves. In a namespace
// that is not theirs, the owner agrees by the annotation trust.CopiesFrom of the namespace. An object that is the copy
// already goes on being one: somebody has agreed to that before, or has marked it in the namespace itself.
func (c *Controller) consented(ctx context.Context, t *task, live metav1.Object) error {
	if t.key.namespace == t.key.from || isCopyOf(live, t) {
		return nil
	}
	namespace, err := c.client.CoreV1().Namespaces().Get(ctx, t.key.namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return uncreated(t, err)
	}
	if err != nil {
		return fmt.Errorf("read whether namespace %s accepts copies: %w", t.key.namespace, err)
	}
	if accepts(namespace, t.key.from) {
		return nil
	}
	agreed := append(acceptedBy(namespace), t.key.from)
	return obstruct("namespace %s does not accept copies from namespace %s; whoever owns it agrees by: kubectl annotate --overwrite namespace %s %s=%s",
		t.key.namespace, t.key.from, t.key.namespace, trust.CopiesFrom, strings.Join(agreed, ","))
}

// isCopyOf says whether an object is marked as the copy, both for us and for the watch.
func isCopyOf(live metav1.Object, t *task) bool {
	return live != nil && live.GetAnnotations()[trust.AnnotationCopyOf] == t.key.from+"/"+t.copy.Name &&
		live.GetLabels()[trust.LabelCopyOf] == labelValue(t.key.from, t.copy.Name)
}

// accepts says whether a namespace accepts copies from another one.
func accepts(namespace metav1.Object, from string) bool {
	return namespace.GetLabels()[trust.CopiesFrom] == from || slices.Contains(acceptedBy(namespace), from)
}

// acceptedBy lists what the annotation names. There is nothing that stands for every namespace.
func acceptedBy(namespace metav1.Object) []string {
	var out []string
	for name := range strings.SplitSeq(namespace.GetAnnotations()[trust.CopiesFrom], ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
