// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// tracker holds the objects of a group.
func (w *world) tracker(gvr schema.GroupVersionResource) clienttesting.ObjectTracker {
	if gvr.Group == configv1alpha1.GroupName {
		return w.own.Tracker()
	}
	return w.client.Tracker()
}

// write is what an API server does about creations, updates and deletions.
func (w *world) write(action clienttesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gvr, namespace := action.GetResource(), action.GetNamespace()
	var o runtime.Object
	name := ""
	switch a := action.(type) {
	case clienttesting.CreateAction:
		o = a.GetObject().DeepCopyObject()
		name = o.(metav1.Object).GetName()
	case clienttesting.DeleteAction:
		name = a.GetName()
	}
	write := fmt.Sprintf("%s %s %s/%s", action.GetVerb(), gvr.Resource, namespace, name)
	w.wrote = append(w.wrote, write)
	if w.fault != nil {
		if err := w.fault(write); err != nil {
			return true, nil, err
		}
	}
	if o == nil {
		return true, nil, w.delete(gvr, namespace, name, action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions)
	}
	stored, err := w.store(action.GetVerb(), gvr, namespace, o)
	return true, stored, err
}

func (w *world) delete(gvr schema.GroupVersionResource, namespace, name string, only *metav1.Preconditions) error {
	live, err := w.tracker(gvr).Get(gvr, namespace, name)
	if err != nil {
		return err
	}
	meta := live.(metav1.Object)
	if only != nil && ((only.UID != nil && *only.UID != meta.GetUID()) ||
		(only.ResourceVersion != nil && *only.ResourceVersion != meta.GetResourceVersion())) {
		return apierrors.NewConflict(gvr.GroupResource(), name, fmt.Errorf("it is %s", meta.GetResourceVersion()))
	}
	w.version++
	return w.tracker(gvr).Delete(gvr, namespace, name)
}

func (w *world) store(verb string, gvr schema.GroupVersionResource, namespace string, o runtime.Object) (runtime.Object, error) {
	meta := o.(metav1.Object)
	want := meta.GetResourceVersion()
	meta.SetResourceVersion(strconv.Itoa(w.version + 1))
	if verb == "create" {
		meta.SetUID(types.UID(fmt.Sprintf("uid-%d", w.version)))
		meta.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
		if err := w.tracker(gvr).Create(gvr, o, namespace); err != nil {
			return nil, err
		}
		w.version++
		return o, nil
	}
	live, err := w.tracker(gvr).Get(gvr, namespace, meta.GetName())
	if err != nil {
		return nil, err
	}
	if have := live.(metav1.Object).GetResourceVersion(); have != want {
		return nil, apierrors.NewConflict(gvr.GroupResource(), meta.GetName(), fmt.Errorf("it is %s, not %s", have, want))
	}
	if err := w.tracker(gvr).Update(gvr, o, namespace); err != nil {
		return nil, err
	}
	w.version++
	return o, nil
}

func resourceOf(o runtime.Object) schema.GroupVersionResource {
	switch o.(type) {
	case *corev1.ConfigMap:
		return corev1.SchemeGroupVersion.WithResource("configmaps")
	case *configv1alpha1.RotationConfiguration:
		return configv1alpha1.SchemeGroupVersion.WithResource("rotationconfigurations")
	case *configv1alpha1.RotationRecord:
		return configv1alpha1.SchemeGroupVersion.WithResource("rotationrecords")
	}
	return corev1.SchemeGroupVersion.WithResource("secrets")
}

// put stores an object as somebody else would.
func (w *world) put(namespace string, o runtime.Object) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	o = o.DeepCopyObject()
	meta := o.(metav1.Object)
	meta.SetNamespace(namespace)
	verb := "update"
	if live, err := w.tracker(resourceOf(o)).Get(resourceOf(o), namespace, meta.GetName()); err != nil {
		verb = "create"
	} else {
		meta.SetResourceVersion(live.(metav1.Object).GetResourceVersion())
	}
	if _, err := w.store(verb, resourceOf(o), namespace, o); err != nil {
		w.t.Fatalf("put %s: %v", meta.GetName(), err)
	}
}

func (w *world) remove(namespace string, o runtime.Object) {
	w.t.Helper()
	w.version++
	if err := w.tracker(resourceOf(o)).Delete(resourceOf(o), namespace, o.(metav1.Object).GetName()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) secret(namespace, name string) *corev1.Secret {
	w.t.Helper()
	o, err := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("secrets"), namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return o.(*corev1.Secret).DeepCopy()
}

func (w *world) configMap(namespace, name string) *corev1.ConfigMap {
	w.t.Helper()
	o, err := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("configmaps"), namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return o.(*corev1.ConfigMap).DeepCopy()
}

var errRefused = errors.New("refused")
