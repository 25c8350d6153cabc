// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"certrotation.dev/registry/view/inventory"
)

// API is an API server in memory.
type API struct {
	client *fake.Clientset
	now    time.Time
	// version is the resource version of the last write.
	version int
	// writes names what was written, as "create secrets/NAME", in order.
	writes []string
	// known are the facts of a namespace at a version.
	known map[string]facts
}

type facts struct {
	version   int
	sources   *inventory.Sources
	namespace *inventory.Namespace
}

// NewAPI returns an API with the objects, in which it is always now. They get UIDs and resource versions.
func NewAPI(now time.Time, objects ...runtime.Object) (*API, error) {
	a := &API{client: fake.NewClientset(), now: now, known: map[string]facts{}}
	a.client.PrependReactor("create", "*", a.create)
	a.client.PrependReactor("update", "*", a.update)
	for _, object := range objects {
		if err := a.add(object); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Client of the API.
func (a *API) Client() kubernetes.Interface { return a.client }

// Writes names every write of a client so far, as "create secrets/NAME", in order.
func (a *API) Writes() []string { return append([]string(nil), a.writes...) }

func (a *API) add(object runtime.Object) error {
	object = object.DeepCopyObject()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return fmt.Errorf("add %T: %w", object, err)
	}
	kinds, _, err := clientScheme().ObjectKinds(object)
	if err != nil {
		return fmt.Errorf("add %s: %w", accessor.GetName(), err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	a.stamp(accessor)
	if err := a.client.Tracker().Create(resource, object, accessor.GetNamespace()); err != nil {
		return fmt.Errorf("add %s: %w", accessor.GetName(), err)
	}
	return nil
}

// stamp gives an object what a server gives it.
func (a *API) stamp(object metav1.Object) {
	a.version++
	object.SetResourceVersion(strconv.Itoa(a.version))
	if object.GetUID() == "" {
		object.SetUID(types.UID("00000000-0000-0000-0000-" + fmt.Sprintf("%012d", a.version)))
		object.SetCreationTimestamp(metav1.NewTime(a.now.Truncate(time.Second)))
	}
}

func (a *API) create(action clienttesting.Action) (bool, runtime.Object, error) {
	created, ok := action.(clienttesting.CreateAction)
	if !ok {
		return false, nil, nil
	}
	return a.write(action, created.GetObject(), func(gvr schema.GroupVersionResource, object runtime.Object) error {
		return a.client.Tracker().Create(gvr, object, action.GetNamespace())
	})
}

func (a *API) update(action clienttesting.Action) (bool, runtime.Object, error) {
	updated, ok := action.(clienttesting.UpdateAction)
	if !ok {
		return false, nil, nil
	}
	object, err := meta.Accessor(updated.GetObject())
	if err != nil {
		return true, nil, err
	}
	gvr := action.GetResource()
	live, err := a.client.Tracker().Get(gvr, action.GetNamespace(), object.GetName())
	if err != nil {
		return true, nil, err
	}
	have, err := meta.Accessor(live)
	if err != nil {
		return true, nil, err
	}
	if want := object.GetResourceVersion(); want != "" && want != have.GetResourceVersion() {
		return true, nil, apierrors.NewConflict(gvr.GroupResource(), object.GetName(),
			fmt.Errorf("it is at version %s, not %s", have.GetResourceVersion(), want))
	}
	return a.write(action, updated.GetObject(), func(gvr schema.GroupVersionResource, object runtime.Object) error {
		return a.client.Tracker().Update(gvr, object, action.GetNamespace())
	})
}

func (a *API) write(action clienttesting.Action, object runtime.Object,
	store func(schema.GroupVersionResource, runtime.Object) error,
) (bool, runtime.Object, error) {
	object = object.DeepCopyObject()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return true, nil, err
	}
	a.stamp(accessor)
	if err := store(action.GetResource(), object); err != nil {
		return true, nil, err
	}
	a.writes = append(a.writes, fmt.Sprintf("%s %s/%s", action.GetVerb(), action.GetResource().Resource, accessor.GetName()))
	return true, object, nil
}

// Live implements rotation.Inventory.
func (a *API) Live(_ context.Context, namespace string) (*inventory.Sources, error) {
	return a.sources(namespace)
}

func (a *API) sources(namespace string) (*inventory.Sources, error) {
	s := &inventory.Sources{Namespace: namespace, Nodes: map[string]*inventory.Node{}}
	for kind, add := range map[string]func(runtime.Object){
		"Secret": func(list runtime.Object) {
			for _, secret := range items[corev1.Secret](list) {
				s = s.WithSecret(secret.Name, secret)
			}
		},
		"ConfigMap": func(list runtime.Object) {
			for _, configMap := range items[corev1.ConfigMap](list) {
				s = s.WithConfigMap(configMap.Name, configMap)
			}
		},
		"Node": func(list runtime.Object) {
			for _, node := range items[corev1.Node](list) {
				s.Nodes[node.Name] = inventory.ParseNode(node)
			}
		},
	} {
		resource, _ := meta.UnsafeGuessKindToResource(corev1.SchemeGroupVersion.WithKind(kind))
		in := namespace
		if kind == "Node" {
			in = metav1.NamespaceNone
		}
		list, err := a.client.Tracker().List(resource, corev1.SchemeGroupVersion.WithKind(kind), in)
		if err != nil {
			return nil, fmt.Errorf("list %s of %q: %w", kind, in, err)
		}
		add(list)
	}
	return s, nil
}

// items of a list of the tracker, which are values or pointers depending on how it was made.
func items[T any](list runtime.Object) []*T {
	var out []*T
	// The function returns no error.
	_ = meta.EachListItem(list, func(object runtime.Object) error {
		if item, ok := any(object).(*T); ok {
			out = append(out, item)
		}
		return nil
	})
	return out
}

// Sources implements rotation.Inventory.
func (a *API) Sources(namespace string) *inventory.Sources { return a.facts(namespace).sources }

// Namespace implements rotation.Inventory.
func (a *API) Namespace(namespace string) *inventory.Namespace { return a.facts(namespace).namespace }

// facts are nil if they cannot be listed, which memory always can.
func (a *API) facts(namespace string) facts {
	if known, ok := a.known[namespace]; ok && known.version == a.version {
		return known
	}
	sources, err := a.sources(namespace)
	if err != nil {
		return facts{}
	}
	known := facts{version: a.version, sources: sources, namespace: inventory.Build(sources)}
	a.known[namespace] = known
	return known
}

// Objects returns the Secrets and ConfigMaps of a namespace, each ordered by name.
func (a *API) Objects(ctx context.Context, namespace string) ([]corev1.Secret, []corev1.ConfigMap, error) {
	secrets, err := a.client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("list Secrets of %s: %w", namespace, err)
	}
	configMaps, err := a.client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("list ConfigMaps of %s: %w", namespace, err)
	}
	return secrets.Items, configMaps.Items, nil
}
