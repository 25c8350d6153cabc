// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"certrotation.dev/test/apifake"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func definition(name, group string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"group": group, "unknown": "x"}}}
	o.SetGroupVersionKind(definitions.GroupVersion().WithKind("CustomResourceDefinition"))
	o.SetName(name)
	return o
}

func groupOf(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	group, _, err := unstructured.NestedString(o.Object, "spec", "group")
	if err != nil {
		t.Fatal(err)
	}
	return group
}

func unstructuredMaps(api *apifake.Server) dynamic.ResourceInterface {
	return api.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(demo)
}

// unstructuredWrites are writes of the dynamic client, to a server with the ConfigMap "there".
func unstructuredWrites() []write {
	send := func(name, value, version string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"key": value}}}
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		o.SetName(name)
		o.SetResourceVersion(version)
		return o
	}
	return []write{
		{"create unstructured", func(t *testing.T, api *apifake.Server) error {
			t.Helper()
			_, err := unstructuredMaps(api).Create(t.Context(), send("new", "x", ""), metav1.CreateOptions{})
			return err
		}},
		{"update unstructured", func(t *testing.T, api *apifake.Server) error {
			t.Helper()
			_, err := unstructuredMaps(api).Update(t.Context(), send("there", "new", get(t, api, "there").ResourceVersion), metav1.UpdateOptions{})
			return err
		}},
		{"delete unstructured", func(t *testing.T, api *apifake.Server) error {
			t.Helper()
			return unstructuredMaps(api).Delete(t.Context(), "there", metav1.DeleteOptions{})
		}},
	}
}

// TestDynamicSharesTheStore: each client sees the writes of the others, in its own form.
func TestDynamicSharesTheStore(t *testing.T) {
	api := newServer(t, configMap("there", "old"))
	watched, err := unstructuredMaps(api).Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	o, err := unstructuredMaps(api).Get(t.Context(), "there", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	outdated := o.DeepCopy()
	if err := unstructured.SetNestedField(o.Object, "new", "data", "key"); err != nil {
		t.Fatal(err)
	}
	written, err := unstructuredMaps(api).Update(t.Context(), o, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if cm := get(t, api, "there"); cm.Data["key"] != "new" || cm.ResourceVersion != written.GetResourceVersion() || written.GetKind() != "ConfigMap" {
		t.Errorf("written as %v, stored as %v", written, cm)
	}
	if _, err := unstructuredMaps(api).Update(t.Context(), outdated, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old version says %v", err)
	}
	if _, err := create(t, api, configMap("typed", "x")); err != nil {
		t.Fatal(err)
	}
	list, err := unstructuredMaps(api).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range list.Items {
		got = append(got, list.Items[i].GetKind()+" "+list.Items[i].GetName())
	}
	if diff := cmp.Diff("ConfigMap there,ConfigMap typed", strings.Join(got, ",")); diff != "" || list.GetResourceVersion() != "3" {
		t.Errorf("version %s (-want +got):\n%s", list.GetResourceVersion(), diff)
	}
	if diff := cmp.Diff([]string{"MODIFIED there@2", "ADDED typed@3"}, events(watched)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDynamicWithoutAClientset uses unstructured objects of types that no clientset here has.
func TestDynamicWithoutAClientset(t *testing.T) {
	api := newServer(t, definition("things.demo", "demo"))
	o, err := api.Dynamic.Resource(definitions).Get(t.Context(), "things.demo", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, found, err := unstructured.NestedString(o.Object, "spec", "unknown"); err != nil || found || groupOf(t, o) != "demo" || o.GetUID() == "" {
		t.Errorf("is %v, %v", o.Object, err)
	}
	if err := api.Put(definition("things.demo", "another")); err != nil {
		t.Fatal(err)
	}
	changed, ok := apifake.Get(api, definition("things.demo", ""))
	if !ok || groupOf(t, changed) != "another" || changed.GetUID() != o.GetUID() {
		t.Errorf("there is one: %t, %v", ok, changed)
	}
	if all := apifake.All(api, apifake.Cached, definition("", ""), ""); len(all) != 1 || groupOf(t, all[0]) != "another" {
		t.Errorf("all are %v", all)
	}
	metadata, err := api.Metadata.Resource(definitions).Get(t.Context(), "things.demo", metav1.GetOptions{})
	if err != nil || metadata.ResourceVersion != changed.GetResourceVersion() || metadata.Kind != "CustomResourceDefinition" {
		t.Errorf("its metadata is %v, %v", metadata, err)
	}
	if err := api.Drop(definition("things.demo", "")); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Dynamic.Resource(definitions).Update(t.Context(), changed, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an update of what is gone says %v", err)
	}
	strange := definition("x", "")
	strange.SetKind("Strange")
	if _, err := api.Dynamic.Resource(definitions).Create(t.Context(), strange, metav1.CreateOptions{}); !apierrors.IsBadRequest(err) {
		t.Errorf("a kind that nobody serves says %v", err)
	}
}
