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

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	ownfake "certrotation.dev/generated/clientset/versioned/fake"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
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

// records is the client of what is remembered.
func (a *api) records() configclient.ConfigV1alpha1Interface {
	client := &ownfake.Clientset{}
	client.AddReactor("*", "rotationrecords", a.react)
	return client.ConfigV1alpha1()
}

// react answers one call of the client.
func (a *api) react(action clienttesting.Action) (bool, runtime.Object, error) {
	a.calls++
	kind := kinds[action.GetResource().Resource]
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
	case clienttesting.DeleteActionImpl:
		return true, nil, a.delete(group, kind, act.GetName(), act.DeleteOptions.Preconditions)
	}
	return true, nil, fmt.Errorf("unexpected %s of %s", action.GetVerb(), group)
}

func (a *api) write(group schema.GroupResource, kind string, o runtime.Object, create bool) (runtime.Object, error) {
	meta := o.(metav1.Object)
	name := meta.GetName()
	if err := a.meetFault(kind, name); err != nil {
		return nil, err
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

// delete is a write too.
func (a *api) delete(group schema.GroupResource, kind, name string, only *metav1.Preconditions) error {
	if err := a.meetFault(kind, name); err != nil {
		return err
	}
	live, exists := a.objects[kind+"/"+name]
	if !exists {
		return apierrors.NewNotFound(group, name)
	}
	if only != nil && only.UID != nil && *only.UID != live.(metav1.Object).GetUID() {
		return conflict(group, name)
	}
	a.remove(kind + "/" + name)
	a.wrote = append(a.wrote, kind+"/"+name)
	a.w.check()
	return nil
}

// meetFault is what a story has the server answer instead of writing.
func (a *api) meetFault(kind, name string) error {
	if a.fault == nil {
		return nil
	}
	err := a.fault(kind, name)
	if err == nil {
		return nil
	}
	a.w.faults++
	if refused := a.w.rules.refused; refused != nil && apierrors.IsConflict(err) {
		refused()
	}
	return err
}

func (a *api) store(kind string, o runtime.Object) runtime.Object {
	a.version++
	o = o.DeepCopyObject()
	meta := o.(metav1.Object)
	meta.SetNamespace(namespace)
	meta.SetResourceVersion(strconv.Itoa(a.version))
	if live, exists := a.objects[kind+"/"+meta.GetName()]; exists && meta.GetUID() == "" {
		meta.SetUID(live.(metav1.Object).GetUID())
		meta.SetCreationTimestamp(live.(metav1.Object).GetCreationTimestamp())
	}
	if meta.GetUID() == "" {
		meta.SetUID(types.UID(fmt.Sprintf("uid-%d", a.version)))
		meta.SetCreationTimestamp(metav1.NewTime(a.w.at))
	}
	a.objects[kind+"/"+meta.GetName()] = o
	a.w.facts = edited(a.w.facts, kind, meta.GetName(), o)
	return o
}

// put writes an object past the webhook and the controller.
func (a *api) put(o runtime.Object) {
	a.store(kindOf(o), o)
}

// remove deletes an object, named as kind/name, past the webhook and the controller.
func (a *api) remove(object string) {
	a.version++
	delete(a.objects, object)
	kind, name, _ := strings.Cut(object, "/")
	a.w.facts = edited(a.w.facts, kind, name, nil)
}

// kinds of objects by their resource.
var kinds = map[string]string{
	"secrets": "Secret", "configmaps": "ConfigMap", "rotationrecords": "RotationRecord", "rotationconfigurations": "RotationConfiguration",
}

func kindOf(o runtime.Object) string {
	switch o.(type) {
	case *corev1.ConfigMap:
		return "ConfigMap"
	case *configv1alpha1.RotationRecord:
		return "RotationRecord"
	case *configv1alpha1.RotationConfiguration:
		return "RotationConfiguration"
	}
	return "Secret"
}

// edited are the facts after an object was written, or, if it is nil, deleted.
func edited(facts *inventory.Sources, kind, name string, o runtime.Object) *inventory.Sources {
	switch kind {
	case "ConfigMap":
		cm, _ := o.(*corev1.ConfigMap)
		return facts.WithConfigMap(name, cm)
	case "RotationRecord":
		r, _ := o.(*configv1alpha1.RotationRecord)
		return facts.WithRecord(name, r)
	case "RotationConfiguration":
		cfg, _ := o.(*configv1alpha1.RotationConfiguration)
		return facts.WithConfiguration(name, cfg)
	}
	s, _ := o.(*corev1.Secret)
	return facts.WithSecret(name, s)
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
