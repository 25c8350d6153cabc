// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// reading selects where consents are read.
type reading bool

const (
	// seen reads from the watches. It suffices to leave a copy alone.
	seen reading = false
	// live reads from the API server. It precedes every write.
	live reading = true
)

// permitted judges a copy that the configuration asks for.
func (c *Controller) permitted(ctx context.Context, k key, to kubernetes.Interface, where reading) (trust.CopyVerdict, string, error) {
	consent, err := c.consent(ctx, k, to, where)
	if err != nil {
		return trust.CopyUndecided, "", err
	}
	consent.Asked = true
	verdict, why := trust.JudgeCopy(consent)
	return verdict, why, nil
}

// unasked judges a copy that no configuration in the cache asks for. It uses live reads only, because a deletion is
// final.
func (c *Controller) unasked(ctx context.Context, k key, to kubernetes.Interface) (trust.CopyVerdict, string, error) {
	consent, err := c.consent(ctx, k, to, live)
	if err != nil {
		return trust.CopyUndecided, "", err
	}
	if consent.SourceManaged {
		list, err := c.configurations.RotationConfigurations(k.from).List(ctx, metav1.ListOptions{})
		if err != nil {
			return trust.CopyUndecided, "", fmt.Errorf("read the configurations of namespace %s: %w", k.from, err)
		}
		for i := range list.Items {
			asks, err := asksFor(&list.Items[i], k)
			if err != nil {
				consent.Unreadable = append(consent.Unreadable, configv1alpha1.Kind+"/"+list.Items[i].Name)
			}
			consent.Asked = consent.Asked || asks
		}
	}
	verdict, why := trust.JudgeCopy(consent)
	return verdict, why, nil
}

// asksFor reports whether a configuration asks for a copy. It returns an error if the configuration cannot be read.
func asksFor(cfg *configv1alpha1.RotationConfiguration, k key) (bool, error) {
	spec, err := load.Spec(&cfg.Spec, k.from)
	if err != nil {
		return false, err
	}
	for i := range spec.Copies {
		cp := spec.Copies[i]
		cp.ToNamespace, cp.ToName = cmp.Or(cp.ToNamespace, k.from), cmp.Or(cp.ToName, cp.Name)
		if keyOf(k.from, &cp) == k {
			return true, nil
		}
	}
	return false, nil
}

// consent reads the consent of the two Namespaces. to is the cluster of the destination.
func (c *Controller) consent(ctx context.Context, k key, to kubernetes.Interface, where reading) (*trust.CopyConsent, error) {
	out := &trust.CopyConsent{
		Copy: trust.AcceptedCopy{From: k.from, Kind: trust.ObjectKind(k.kind), Name: k.name}, Destination: k.namespace, Cluster: k.cluster,
	}
	if out.SourceManaged = c.watches.named(k.from); !out.SourceManaged {
		source, err := c.namespace(ctx, k.from, where)
		if err != nil {
			return nil, err
		}
		out.SourceManaged = source != nil && source.GetLabels()[trust.LabelManaged] == trust.ManagedValue
	}
	if k.within() {
		return out, nil
	}
	destination, err := c.destination(ctx, k, to, where)
	if err != nil {
		return nil, err
	}
	if destination == nil {
		return nil, nowhere(k.target)
	}
	out.Accepted = destination.GetAnnotations()[trust.CopiesFrom]
	return out, nil
}

// destination returns the metadata of the Namespace of a copy, nil if it does not exist.
func (c *Controller) destination(ctx context.Context, k key, to kubernetes.Interface, where reading) (metav1.Object, error) {
	if k.cluster == "" {
		return c.namespace(ctx, k.namespace, where)
	}
	return readNamespace(ctx, to, k.cluster, k.namespace)
}

// namespace returns the metadata of a Namespace, nil if it does not exist.
func (c *Controller) namespace(ctx context.Context, name string, where reading) (metav1.Object, error) {
	if where == seen {
		if known := c.watches.namespace(name); known != nil {
			return known, nil
		}
	}
	return readNamespace(ctx, c.client, "", name)
}

func readNamespace(ctx context.Context, client kubernetes.Interface, cluster, name string) (metav1.Object, error) {
	namespace, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return nil, obstruct("the controller may not read %s, and so does not know whether it consents: it needs the verb get on namespaces there", trust.PlaceOf(cluster, name))
	case err != nil:
		return nil, fmt.Errorf("read whether %s consents: %w", trust.PlaceOf(cluster, name), err)
	}
	return namespace, nil
}

// isCopyFrom reports whether an object is a copy from the key's namespace, by annotation and by the label of the
// watch. Within one namespace the object must also consent to a configuration.
func isCopyFrom(object metav1.Object, k key) bool {
	from, name, ok := sourceOf(object, k.label())
	return ok && from == k.from && object.GetLabels()[k.label()] == labelValue(from, name) &&
		(!k.within() || object.GetAnnotations()[trust.AnnotationConfiguration] != "")
}

// foreign is why an existing object must not become the copy, nil if it may. An object is taken over only if it says
// so itself.
func foreign(t *task, object metav1.Object) *obstacle {
	k := t.key
	if k.within() {
		switch whose := object.GetAnnotations()[trust.AnnotationConfiguration]; whose {
		case t.configuration:
			return nil
		case "":
			return obstruct("%s/%s was there before and does not say that it may be written; look at it, and then: kubectl certrotation adopt -n %s %s",
				k.kind, k.name, k.namespace, t.configuration)
		default:
			return obstruct("%s/%s may be used by the configuration %s and not by %s; choose another toName", k.kind, k.name, whose, t.configuration)
		}
	}
	if isCopyFrom(object, k) {
		return nil
	}
	if from, name, ok := sourceOf(object, k.label()); ok && from != k.from {
		return obstruct("%s/%s in %s is a copy of %s/%s already; choose another toName in one of the two configurations",
			k.kind, k.name, k.place(), from, name)
	}
	return obstruct("%s/%s in %s was there before and is not overwritten; delete it, or choose another toName", k.kind, k.name, k.place())
}

// mistyped reports an existing Secret of another type. The type of a Secret is immutable.
func mistyped(t *task, object *corev1.Secret) *obstacle {
	if object.Type == corev1.SecretTypeTLS {
		return nil
	}
	return obstruct("%s/%s in %s is of type %s and not %s; delete it, or choose another toName",
		t.key.kind, t.key.name, t.key.place(), object.Type, corev1.SecretTypeTLS)
}
