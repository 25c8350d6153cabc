// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// object is of the core group or of the configuration group.
type object interface {
	runtime.Object
	metav1.Object
}

// API is an in-memory API server at a fixed time. It answers the requests of its clients ([API.RoundTrip]) and is the
// inventory of its objects.
type API struct {
	client  kubernetes.Interface
	records configclient.ConfigV1alpha1Interface
	scheme  *runtime.Scheme
	// requests parses requests.
	requests genericapirequest.RequestInfoResolver
	// kinds that are served, by their resources.
	kinds   map[schema.GroupVersionResource]schema.GroupVersionKind
	objects map[key]object
	now     time.Time
	// version is the resource version of the last write.
	version int
	// writes lists the writes of clients in order, as "create secrets/NAME".
	writes []string
	// known caches the facts of each namespace, valid for one version.
	known map[string]facts
}

// key identifies an object.
type key struct {
	schema.GroupVersionKind
	types.NamespacedName
}

type facts struct {
	version   int
	sources   *inventory.Sources
	namespace *inventory.Namespace
}

// NewAPI returns an API with the objects. It sets their UIDs and resource versions.
func NewAPI(now time.Time, objects ...object) (*API, error) {
	a := &API{
		scheme: runtime.NewScheme(), objects: map[key]object{}, now: now, known: map[string]facts{},
		requests: &genericapirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
	}
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, configv1alpha1.AddToScheme} {
		if err := add(a.scheme); err != nil {
			return nil, fmt.Errorf("make the scheme: %w", err)
		}
	}
	a.kinds = resources(a.scheme, corev1.SchemeGroupVersion, configv1alpha1.SchemeGroupVersion)
	config := &rest.Config{Host: "http://memory", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	caller := &http.Client{Transport: a}
	var err error
	if a.client, err = kubernetes.NewForConfigAndClient(config, caller); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	if a.records, err = configclient.NewForConfigAndClient(config, caller); err != nil {
		return nil, fmt.Errorf("make a client of configurations and records: %w", err)
	}
	return a, a.add(objects...)
}

// add stores objects without recording a write of a client.
func (a *API) add(objects ...object) error {
	for _, o := range objects {
		kinds, _, err := a.scheme.ObjectKinds(o)
		if err != nil {
			return fmt.Errorf("add %s: %w", o.GetName(), err)
		}
		if _, taken := a.objects[key{kinds[0], nameOf(o)}]; taken {
			return fmt.Errorf("add %s %s: it is there already", kinds[0].Kind, nameOf(o))
		}
		a.put(kinds[0], copied(o))
	}
	return nil
}

// put stores an object and sets the fields that a server sets.
func (a *API) put(kind schema.GroupVersionKind, o object) {
	a.version++
	o.GetObjectKind().SetGroupVersionKind(kind)
	o.SetResourceVersion(strconv.Itoa(a.version))
	if o.GetUID() == "" {
		o.SetUID(types.UID("00000000-0000-0000-0000-" + fmt.Sprintf("%012d", a.version)))
		o.SetCreationTimestamp(metav1.NewTime(a.now.Truncate(time.Second)))
	}
	a.objects[key{kind, nameOf(o)}] = o
}

func nameOf(o object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func kindOf(o object) string { return o.GetObjectKind().GroupVersionKind().Kind }

func copied[T object](o T) T { return o.DeepCopyObject().(T) }

// list returns copies of all objects of a type in a namespace, ordered by name.
func list[T object](a *API, namespace string) []T {
	var out []T
	for _, stored := range a.objects {
		if o, ok := stored.(T); ok && o.GetNamespace() == namespace {
			out = append(out, copied(o))
		}
	}
	slices.SortFunc(out, func(x, y T) int { return cmp.Compare(x.GetName(), y.GetName()) })
	return out
}

// get returns a copy of an object.
func get[T object](a *API, namespace, name string) (T, error) {
	wanted := types.NamespacedName{Namespace: namespace, Name: name}
	for _, stored := range a.objects {
		if o, ok := stored.(T); ok && nameOf(o) == wanted {
			return copied(o), nil
		}
	}
	var none T
	return none, fmt.Errorf("there is no %s %s", strings.TrimPrefix(fmt.Sprintf("%T", none), "*v1."), name)
}

// Changes lists every write of a client so far in order, as "create secrets/NAME". It omits writes of records: a
// controller that records its roster changes no other object.
func (a *API) Changes() []string {
	return slices.DeleteFunc(slices.Clone(a.writes), func(write string) bool {
		_, object, _ := strings.Cut(write, " ")
		return strings.HasPrefix(object, "rotationrecords/")
	})
}

// Live implements rotation.Inventory.
func (a *API) Live(_ context.Context, namespace string) (*inventory.Sources, error) {
	return a.sources(namespace), nil
}

func (a *API) sources(namespace string) *inventory.Sources {
	s := &inventory.Sources{Namespace: namespace, Nodes: map[string]*inventory.Node{}, Classes: map[string]*inventory.Class{}}
	for _, configuration := range list[*configv1alpha1.RotationConfiguration](a, namespace) {
		s = s.WithConfiguration(configuration.Name, configuration)
	}
	for _, record := range list[*configv1alpha1.RotationRecord](a, namespace) {
		s = s.WithRecord(record.Name, record)
	}
	for _, secret := range list[*corev1.Secret](a, namespace) {
		s = s.WithSecret(secret.Name, secret)
	}
	for _, configMap := range list[*corev1.ConfigMap](a, namespace) {
		s = s.WithConfigMap(configMap.Name, configMap)
	}
	for _, class := range list[*configv1alpha1.StaticPodClass](a, metav1.NamespaceNone) {
		s.Classes[class.Name] = inventory.ParseClass(class)
	}
	for _, node := range list[*corev1.Node](a, metav1.NamespaceNone) {
		s.Nodes[node.Name] = inventory.ParseNode(node)
	}
	return s
}

// Sources implements rotation.Inventory.
func (a *API) Sources(namespace string) *inventory.Sources { return a.facts(namespace).sources }

// Namespace implements rotation.Inventory.
func (a *API) Namespace(namespace string) *inventory.Namespace { return a.facts(namespace).namespace }

func (a *API) facts(namespace string) facts {
	if known, ok := a.known[namespace]; ok && known.version == a.version {
		return known
	}
	sources := a.sources(namespace)
	known := facts{version: a.version, sources: sources, namespace: inventory.Build(sources)}
	a.known[namespace] = known
	return known
}
