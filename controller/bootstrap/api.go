// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	ownfake "certrotation.dev/generated/clientset/versioned/fake"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// API is an API server in memory.
type API struct {
	client *fake.Clientset
	// own has the resources of certrotation itself.
	own *ownfake.Clientset
	now time.Time
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
	a := &API{
		client: fake.NewClientset(), own: ownfake.NewSimpleClientset(),
		now: now, known: map[string]facts{},
	}
	for _, fake := range []*clienttesting.Fake{&a.client.Fake, &a.own.Fake} {
		fake.PrependReactor("create", "*", a.create)
		fake.PrependReactor("update", "*", a.update)
	}
	known, err := newScheme()
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if err := a.add(known, object); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Client of the API.
func (a *API) Client() kubernetes.Interface { return a.client }

// Records are the clients of configurations and records.
func (a *API) Records() configclient.ConfigV1alpha1Interface { return a.own.ConfigV1alpha1() }

// tracker holds the objects of a group.
func (a *API) tracker(group string) clienttesting.ObjectTracker {
	if group == configv1alpha1.GroupName {
		return a.own.Tracker()
	}
	return a.client.Tracker()
}

// newScheme knows the objects of both clients.
func newScheme() (*runtime.Scheme, error) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, configv1alpha1.AddToScheme} {
		if err := add(known); err != nil {
			return nil, fmt.Errorf("make the scheme: %w", err)
		}
	}
	return known, nil
}

// Writes names every write of a client so far, as "create secrets/NAME", in order.
func (a *API) Writes() []string { return append([]string(nil), a.writes...) }

// Changes are the writes but for those of records: that a controller writes down who counts changes nothing.
func (a *API) Changes() []string {
	return slices.DeleteFunc(a.Writes(), func(write string) bool {
		_, object, _ := strings.Cut(write, " ")
		return strings.HasPrefix(object, "rotationrecords/")
	})
}

func (a *API) add(known *runtime.Scheme, object runtime.Object) error {
	object = object.DeepCopyObject()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return fmt.Errorf("add %T: %w", object, err)
	}
	kinds, _, err := known.ObjectKinds(object)
	if err != nil {
		return fmt.Errorf("add %s: %w", accessor.GetName(), err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	a.stamp(accessor)
	if err := a.tracker(resource.Group).Create(resource, object, accessor.GetNamespace()); err != nil {
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
		return a.tracker(gvr.Group).Create(gvr, object, action.GetNamespace())
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
	live, err := a.tracker(gvr.Group).Get(gvr, action.GetNamespace(), object.GetName())
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
		return a.tracker(gvr.Group).Update(gvr, object, action.GetNamespace())
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
	configurations, noConfigurations := a.Configurations(namespace)
	records, noRecords := list[configv1alpha1.RotationRecord](a, configv1alpha1.SchemeGroupVersion.WithKind("RotationRecord"), namespace)
	secrets, configMaps, noObjects := a.Objects(namespace)
	nodes, noNodes := list[corev1.Node](a, corev1.SchemeGroupVersion.WithKind("Node"), metav1.NamespaceNone)
	classes, noClasses := list[configv1alpha1.StaticPodClass](a, configv1alpha1.SchemeGroupVersion.WithKind(classKind), metav1.NamespaceNone)
	if err := errors.Join(noConfigurations, noRecords, noObjects, noNodes, noClasses); err != nil {
		return nil, err
	}
	s := &inventory.Sources{Namespace: namespace, Nodes: map[string]*inventory.Node{}, Classes: map[string]*inventory.Class{}}
	for _, configuration := range configurations {
		s = s.WithConfiguration(configuration.Name, configuration)
	}
	for _, record := range records {
		s = s.WithRecord(record.Name, record)
	}
	for _, secret := range secrets {
		s = s.WithSecret(secret.Name, secret)
	}
	for _, configMap := range configMaps {
		s = s.WithConfigMap(configMap.Name, configMap)
	}
	for _, class := range classes {
		s.Classes[class.Name] = inventory.ParseClass(class)
	}
	for _, node := range nodes {
		s.Nodes[node.Name] = inventory.ParseNode(node)
	}
	return s, nil
}

// list all objects of a kind, ordered by name.
func list[T any](a *API, kind schema.GroupVersionKind, namespace string) ([]*T, error) {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	found, err := a.tracker(kind.Group).List(resource, kind, namespace)
	if err != nil {
		return nil, fmt.Errorf("list %s of %q: %w", kind.Kind, namespace, err)
	}
	return items[T](found), nil
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
func (a *API) Objects(namespace string) ([]*corev1.Secret, []*corev1.ConfigMap, error) {
	secrets, noSecrets := list[corev1.Secret](a, corev1.SchemeGroupVersion.WithKind("Secret"), namespace)
	configMaps, noConfigMaps := list[corev1.ConfigMap](a, corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace)
	return secrets, configMaps, errors.Join(noSecrets, noConfigMaps)
}

// Configurations of a namespace, ordered by name.
func (a *API) Configurations(namespace string) ([]*configv1alpha1.RotationConfiguration, error) {
	return list[configv1alpha1.RotationConfiguration](a, configv1alpha1.SchemeGroupVersion.WithKind(configv1alpha1.Kind), namespace)
}
