// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// What the API server of a world does about writes.

func (w *world) create(action clienttesting.Action) (bool, runtime.Object, error) {
	created, ok := action.(clienttesting.CreateAction)
	if !ok {
		return false, nil, nil
	}
	return w.write(action, created.GetObject(), func(gvr schema.GroupVersionResource, o runtime.Object, ns string) error {
		accessor := o.(metav1.Object)
		accessor.SetUID(types.UID(fmt.Sprintf("uid-%d", w.version)))
		accessor.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
		return w.tracker(gvr).Create(gvr, o, ns)
	})
}

func (w *world) update(action clienttesting.Action) (bool, runtime.Object, error) {
	updated, ok := action.(clienttesting.UpdateAction)
	if !ok {
		return false, nil, nil
	}
	want := updated.GetObject().(metav1.Object).GetResourceVersion()
	return w.write(action, updated.GetObject(), func(gvr schema.GroupVersionResource, o runtime.Object, ns string) error {
		meta := o.(metav1.Object)
		live, err := w.tracker(gvr).Get(gvr, ns, meta.GetName())
		if err != nil {
			return err
		}
		if have := live.(metav1.Object).GetResourceVersion(); have != want {
			return apierrors.NewConflict(gvr.GroupResource(), meta.GetName(), fmt.Errorf("it is %s, not %s", have, want))
		}
		meta.SetUID(live.(metav1.Object).GetUID())
		return w.tracker(gvr).Update(gvr, o, ns)
	})
}

func (w *world) remove(action clienttesting.Action) (bool, runtime.Object, error) {
	removed, ok := action.(clienttesting.DeleteActionImpl)
	if !ok {
		return false, nil, nil
	}
	gvr := action.GetResource()
	live, err := w.tracker(gvr).Get(gvr, action.GetNamespace(), removed.GetName())
	if err != nil {
		return true, nil, err
	}
	uid, version := live.(metav1.Object).GetUID(), live.(metav1.Object).GetResourceVersion()
	return w.write(action, live, func(gvr schema.GroupVersionResource, _ runtime.Object, ns string) error {
		only := ptr.Deref(removed.DeleteOptions.Preconditions, metav1.Preconditions{})
		if ptr.Deref(only.UID, uid) != uid || ptr.Deref(only.ResourceVersion, version) != version {
			return apierrors.NewConflict(gvr.GroupResource(), removed.GetName(), errors.New("it is another one"))
		}
		return w.tracker(gvr).Delete(gvr, ns, removed.GetName())
	})
}

// apply is a server-side apply of a status, by whoever owns all of it.
func (w *world) apply(action clienttesting.Action) (bool, runtime.Object, error) {
	patch, ok := action.(clienttesting.PatchAction)
	if !ok || patch.GetPatchType() != types.ApplyPatchType || patch.GetSubresource() != "status" {
		return false, nil, nil
	}
	gvr := action.GetResource()
	live, err := w.tracker(gvr).Get(gvr, action.GetNamespace(), patch.GetName())
	if err != nil {
		return true, nil, err
	}
	var applied configv1alpha1.RotationConfiguration
	if err := json.Unmarshal(patch.GetPatch(), &applied); err != nil {
		return true, nil, err
	}
	changed := live.(*configv1alpha1.RotationConfiguration).DeepCopy()
	if applied.UID != changed.UID {
		return true, nil, apierrors.NewConflict(gvr.GroupResource(), patch.GetName(), errors.New("it is another one"))
	}
	changed.Status = applied.Status
	return w.write(action, changed, func(gvr schema.GroupVersionResource, o runtime.Object, ns string) error {
		return w.tracker(gvr).Update(gvr, o, ns)
	})
}

func (w *world) write(action clienttesting.Action, o runtime.Object,
	store func(schema.GroupVersionResource, runtime.Object, string) error,
) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return true, nil, errCrash
	}
	gvr := action.GetResource()
	w.writes++
	if w.refuse != nil {
		if err := w.refuse(action.GetVerb(), o.(metav1.Object)); err != nil {
			return true, nil, err
		}
	}
	kind := noFault
	if w.fault != nil {
		kind = w.fault(w.writes)
	}
	switch kind {
	case conflict:
		return true, nil, apierrors.NewConflict(gvr.GroupResource(), "x", errors.New("injected"))
	case internalError:
		return true, nil, apierrors.NewInternalError(errors.New("injected"))
	case noFault, timeoutAfterSuccess, crashAfterSuccess:
	}
	o = o.DeepCopyObject()
	o.(metav1.Object).SetResourceVersion(strconv.Itoa(w.version + 1))
	if err := store(gvr, o, action.GetNamespace()); err != nil {
		return true, nil, err
	}
	w.version++
	switch kind {
	case timeoutAfterSuccess:
		return true, nil, apierrors.NewTimeoutError("injected", 0)
	case crashAfterSuccess:
		w.dead = true
		return true, nil, errCrash
	case noFault, conflict, internalError:
	}
	return true, o, nil
}
