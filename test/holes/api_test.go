// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// api is an API server in memory: resource versions, conflicts, and faults that a story asks for. The controller goes
// through its client; people, and systems that go past the webhook, use put and remove.
type api struct {
	w       *world
	objects map[string]runtime.Object
	version int
	// calls of the client, and the writes of them that were done, as "kind/name".
	calls int
	wrote []string
	// fault is asked before each write of the client and may refuse it; nil for none.
	fault func(kind, name string) error
}

func (a *api) client() *fake.Clientset {
	client := &fake.Clientset{}
	client.AddReactor("*", "*", a.react)
	return client
}

// react answers one call of the client.
func (a *api) react(action clienttesting.Action) (bool, runtime.Object, error) {
	a.calls++
	kind := "Secret"
	if action.GetResource().Resource == "configmaps" {
		kind = "ConfigMap"
	}
	group := action.GetResource().GroupResource()
	switch act := action.(type) {
	case clienttesting.GetActionImpl:
		o, ok := a.objects[kind+"/"+act.GetName()]
		if !ok {
			return true, nil, apierrors.NewNotFound(group, act.GetName())
		}
		return true, o.DeepCopyObject(), nil
	case clienttesting.CreateActionImpl:
		o, err := a.write(group, kind, act.GetObject(), true)
		return true, o, err
	case clienttesting.UpdateActionImpl:
		o, err := a.write(group, kind, act.GetObject(), false)
		return true, o, err
	}
	return true, nil, fmt.Errorf("unexpected %s of %s", action.GetVerb(), group)
}

func (a *api) write(group schema.GroupResource, kind string, o runtime.Object, create bool) (runtime.Object, error) {
	meta := o.(metav1.Object)
	name := meta.GetName()
	if a.fault != nil {
		if err := a.fault(kind, name); err != nil {
			a.w.faults++
			if refused := a.w.rules.refused; refused != nil && apierrors.IsConflict(err) {
				refused()
			}
			return nil, err
		}
	}
	live, exists := a.objects[kind+"/"+name]
	switch {
	case create && exists:
		return nil, apierrors.NewAlreadyExists(group, name)
	case !create && !exists:
		return nil, apierrors.NewNotFound(group, name)
	case !create && live.(metav1.Object).GetResourceVersion() != meta.GetResourceVersion():
		return nil, conflict(group, name)
	}
	stored := a.store(kind, o)
	a.wrote = append(a.wrote, kind+"/"+name)
	a.w.check()
	return stored.DeepCopyObject(), nil
}

func (a *api) store(kind string, o runtime.Object) runtime.Object {
	a.version++
	o = o.DeepCopyObject()
	meta := o.(metav1.Object)
	meta.SetNamespace(namespace)
	meta.SetResourceVersion(strconv.Itoa(a.version))
	if meta.GetUID() == "" {
		meta.SetUID(types.UID(fmt.Sprintf("uid-%d", a.version)))
		meta.SetCreationTimestamp(metav1.NewTime(a.w.at))
	}
	a.objects[kind+"/"+meta.GetName()] = o
	switch o := o.(type) {
	case *corev1.Secret:
		a.w.facts = a.w.facts.WithSecret(o.Name, o)
	case *corev1.ConfigMap:
		a.w.facts = a.w.facts.WithConfigMap(o.Name, o)
	}
	return o
}

// put writes an object past the webhook and the controller.
func (a *api) put(o runtime.Object) {
	kind := "Secret"
	if _, ok := o.(*corev1.ConfigMap); ok {
		kind = "ConfigMap"
	}
	a.store(kind, o)
}

// remove deletes an object, named as kind/name, past the webhook and the controller.
func (a *api) remove(object string) {
	a.version++
	delete(a.objects, object)
	kind, name, _ := strings.Cut(object, "/")
	if kind == "Secret" {
		a.w.facts = a.w.facts.WithSecret(name, nil)
	} else {
		a.w.facts = a.w.facts.WithConfigMap(name, nil)
	}
}

func (a *api) secret(name string) *corev1.Secret {
	o, ok := a.objects["Secret/"+name].(*corev1.Secret)
	if !ok {
		a.w.failf("Secret %s does not exist", name)
	}
	return o.DeepCopy()
}

func (a *api) configMap(name string) *corev1.ConfigMap {
	o, ok := a.objects["ConfigMap/"+name].(*corev1.ConfigMap)
	if !ok {
		a.w.failf("ConfigMap %s does not exist", name)
	}
	return o.DeepCopy()
}

func conflict(group schema.GroupResource, name string) error {
	return apierrors.NewConflict(group, name, errors.New("somebody else wrote it"))
}

// conflictOnce refuses the next write of an object.
func conflictOnce(object string) func(kind, name string) error {
	done := false
	return func(kind, name string) error {
		if done || kind+"/"+name != object {
			return nil
		}
		done = true
		return conflict(schema.GroupResource{Resource: kind}, name)
	}
}
