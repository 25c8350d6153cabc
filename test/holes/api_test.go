// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// api is the API server of a story. Its objects are named kind/name. The controller uses its clients. put and
// remove bypass the webhook.
type api struct {
	*apifake.Server

	w *world
	// changes counts the changes of objects and nodes.
	changes int
	// wrote lists the successful writes of clients.
	wrote []string
	// fault is called before each write of a client. It may be nil.
	fault func(object string) apifake.Fault
}

func newAPI(w *world) *api {
	a := &api{w: w, Server: apifake.New(w.t, trueTime{w})}
	a.Fault, a.Stored = a.meetFault, a.done
	return a
}

// trueTime is the clock of the server, which is right.
type trueTime struct{ w *world }

// Now implements clock.PassiveClock.
func (t trueTime) Now() time.Time { return t.w.at }

// Since implements clock.PassiveClock.
func (t trueTime) Since(at time.Time) time.Duration { return t.w.at.Sub(at) }

func (a *api) calls() int { return len(a.Actions()) }

// meetFault returns the fault of a write that the story wants.
func (a *api) meetFault(r *apifake.Request) apifake.Fault {
	if a.fault == nil {
		return apifake.NoFault
	}
	fault := a.fault(objectOf(r))
	if fault == apifake.NoFault {
		return fault
	}
	a.w.faults++
	if refused := a.w.rules.refused; refused != nil && fault == apifake.Conflict {
		refused()
	}
	return fault
}

// done is called after each successful write of a client.
func (a *api) done(r *apifake.Request) {
	a.became(objectOf(r))
	a.wrote = append(a.wrote, objectOf(r))
	a.w.check()
}

// became updates the facts of the world with an object.
func (a *api) became(object string) {
	a.changes++
	kind, name, _ := strings.Cut(object, "/")
	a.w.facts = edited(a.w.facts, kind, name, a.find(object))
}

func (a *api) find(object string) runtime.Object {
	kind, name, _ := strings.Cut(object, "/")
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	var found runtime.Object
	var exists bool
	switch kind {
	case "ConfigMap":
		found, exists = apifake.Get(a.Server, &corev1.ConfigMap{ObjectMeta: meta})
	case "RotationRecord":
		found, exists = apifake.Get(a.Server, &configv1alpha1.RotationRecord{ObjectMeta: meta})
	case "RotationConfiguration":
		found, exists = apifake.Get(a.Server, &configv1alpha1.RotationConfiguration{ObjectMeta: meta})
	case "Secret":
		found, exists = apifake.Get(a.Server, &corev1.Secret{ObjectMeta: meta})
	}
	if !exists {
		return nil
	}
	return found
}

func (a *api) objects() []string {
	var out []string
	add := func(kind string, o metav1.Object) { out = append(out, kind+"/"+o.GetName()) }
	for _, o := range apifake.All(a.Server, apifake.Live, &corev1.Secret{}, namespace) {
		add("Secret", o)
	}
	for _, o := range apifake.All(a.Server, apifake.Live, &corev1.ConfigMap{}, namespace) {
		add("ConfigMap", o)
	}
	for _, o := range apifake.All(a.Server, apifake.Live, &configv1alpha1.RotationRecord{}, namespace) {
		add("RotationRecord", o)
	}
	for _, o := range apifake.All(a.Server, apifake.Live, &configv1alpha1.RotationConfiguration{}, namespace) {
		add("RotationConfiguration", o)
	}
	return out
}

// put writes an object, without webhook and controller.
func (a *api) put(o runtime.Object) {
	o = o.DeepCopyObject()
	meta := o.(metav1.Object)
	meta.SetNamespace(namespace)
	if err := a.Put(o); err != nil {
		a.w.failf("put %s: %v", meta.GetName(), err)
		return
	}
	a.became(kindOf(o) + "/" + meta.GetName())
}

// remove deletes an object, without webhook and controller.
func (a *api) remove(object string) {
	if o := a.find(object); o != nil {
		if err := a.Drop(o); err != nil && !apierrors.IsNotFound(err) {
			a.w.failf("remove %s: %v", object, err)
		}
	}
	a.became(object)
}

func objectOf(r *apifake.Request) string {
	o, ok := r.Object.(runtime.Object)
	if !ok {
		return ""
	}
	return kindOf(o) + "/" + r.Name
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

// edited returns the facts after an object was written, or deleted if it is nil.
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
	s, ok := a.find("Secret/" + name).(*corev1.Secret)
	if !ok {
		a.w.failf("Secret %s does not exist", name)
	}
	return s
}

func (a *api) configMap(name string) *corev1.ConfigMap {
	cm, ok := a.find("ConfigMap/" + name).(*corev1.ConfigMap)
	if !ok {
		a.w.failf("ConfigMap %s does not exist", name)
	}
	return cm
}

// conflictOnce fails the next write of an object with a conflict.
func conflictOnce(object string) func(string) apifake.Fault {
	done := false
	return func(written string) apifake.Fault {
		if done || written != object {
			return apifake.NoFault
		}
		done = true
		return apifake.Conflict
	}
}
