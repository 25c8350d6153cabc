// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	configapply "certrotation.dev/generated/applyconfiguration/config/v1alpha1"
	"certrotation.dev/test/apifake"
)

const demo = "demo"

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newServer(t *testing.T, objects ...runtime.Object) *apifake.Server {
	t.Helper()
	return apifake.New(t, testclock.NewFakePassiveClock(now), objects...)
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: demo, Name: name}, Data: map[string]string{"key": value}}
}

func create(t *testing.T, api *apifake.Server, cm *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	t.Helper()
	return api.Client.CoreV1().ConfigMaps(demo).Create(t.Context(), cm, metav1.CreateOptions{})
}

func get(t *testing.T, api *apifake.Server, name string) *corev1.ConfigMap {
	t.Helper()
	cm, err := api.Client.CoreV1().ConfigMaps(demo).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

// write is one write, to a server with the ConfigMap "there".
type write struct {
	name string
	do   func(t *testing.T, api *apifake.Server) error
}

func writes() []write {
	return []write{
		{"create", func(t *testing.T, api *apifake.Server) error {
			t.Helper()
			_, err := create(t, api, configMap("new", "x"))
			return err
		}},
		{"update", func(t *testing.T, api *apifake.Server) error {
			t.Helper()
			cm := get(t, api, "there")
			cm.Data["key"] = "new"
			_, err := api.Client.CoreV1().ConfigMaps(demo).Update(t.Context(), cm, metav1.UpdateOptions{})
			return err
		}},
		{"patch", func(t *testing.T, api *apifake.Server) error {
			t.Helper()
			_, err := api.Client.CoreV1().ConfigMaps(demo).Patch(t.Context(), "there", types.MergePatchType, []byte(`{"data":{"key":"new"}}`), metav1.PatchOptions{})
			return err
		}},
		{"delete", func(t *testing.T, api *apifake.Server) error {
			t.Helper()
			return api.Client.CoreV1().ConfigMaps(demo).Delete(t.Context(), "there", metav1.DeleteOptions{})
		}},
	}
}

func TestOptimisticConcurrency(t *testing.T) {
	tests := map[string]struct {
		change func(cm *corev1.ConfigMap)
		says   func(error) bool
		// wrote is whether the write makes a new version.
		wrote bool
	}{
		"as it was read":    {change: func(cm *corev1.ConfigMap) { cm.Data["key"] = "new" }, wrote: true},
		"nothing changes":   {change: func(*corev1.ConfigMap) {}},
		"an old version":    {change: func(cm *corev1.ConfigMap) { cm.Data["key"], cm.ResourceVersion = "new", "1" }, says: apierrors.IsConflict},
		"no version":        {change: func(cm *corev1.ConfigMap) { cm.Data["key"], cm.ResourceVersion = "new", "" }, says: apierrors.IsConflict},
		"another UID":       {change: func(cm *corev1.ConfigMap) { cm.Data["key"], cm.UID = "new", "other" }, says: apierrors.IsConflict},
		"no UID":            {change: func(cm *corev1.ConfigMap) { cm.Data["key"], cm.UID = "new", "" }, wrote: true},
		"what is not there": {change: func(cm *corev1.ConfigMap) { cm.Name = "gone" }, says: apierrors.IsNotFound},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			api := newServer(t, configMap("other", ""), configMap("there", "old"))
			before, cm := api.Version(), get(t, api, "there")
			tc.change(cm)
			changed, err := api.Client.CoreV1().ConfigMaps(demo).Update(t.Context(), cm, metav1.UpdateOptions{})
			if (err != nil) != (tc.says != nil) || (err != nil && !tc.says(err)) {
				t.Fatalf("it says %v", err)
			}
			if wrote := api.Version() != before; wrote != tc.wrote {
				t.Errorf("there is another version: %t, want %t", wrote, tc.wrote)
			}
			if err == nil && (changed.UID != "uid-2" || !changed.CreationTimestamp.Time.Equal(now) || changed.ResourceVersion != fmt.Sprint(api.Version())) {
				t.Errorf("answered %+v", changed.ObjectMeta)
			}
		})
	}
}

func TestPreconditions(t *testing.T) {
	tests := map[string]struct {
		only *metav1.Preconditions
		gone bool
	}{
		"none":            {gone: true},
		"it":              {only: &metav1.Preconditions{UID: new(types.UID("uid-1")), ResourceVersion: new("1")}, gone: true},
		"another UID":     {only: &metav1.Preconditions{UID: new(types.UID("uid-2"))}},
		"another version": {only: &metav1.Preconditions{ResourceVersion: new("2")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			api := newServer(t, configMap("there", "old"))
			err := api.Client.CoreV1().ConfigMaps(demo).Delete(t.Context(), "there", metav1.DeleteOptions{Preconditions: tc.only})
			if _, there := apifake.Get(api, configMap("there", "")); there == tc.gone || apierrors.IsConflict(err) == tc.gone {
				t.Errorf("it is there: %t, error %v", there, err)
			}
		})
	}
}

func TestCreation(t *testing.T) {
	api := newServer(t, configMap("there", "old"))
	generated := configMap("", "x")
	generated.GenerateName = "made-"
	first, err := create(t, api, generated.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	second, err := create(t, api, generated.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.Name, "made-") || first.Name == second.Name || first.UID == second.UID {
		t.Errorf("made %s (%s) and %s (%s)", first.Name, first.UID, second.Name, second.UID)
	}
	if _, err := create(t, api, configMap("there", "")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second one says %v", err)
	}
	for name, bad := range map[string]func(*corev1.ConfigMap){
		"no name":           func(cm *corev1.ConfigMap) { cm.Name = "" },
		"a version":         func(cm *corev1.ConfigMap) { cm.ResourceVersion = "1" },
		"another namespace": func(cm *corev1.ConfigMap) { cm.Namespace = "elsewhere" },
	} {
		cm := configMap("bad", "")
		bad(cm)
		if _, err := create(t, api, cm); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: it says %v", name, err)
		}
	}
}

func TestImmutable(t *testing.T) {
	fixed := configMap("fixed", "old")
	fixed.Immutable = new(true)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: demo, Name: "fixed"}, Type: corev1.SecretTypeTLS, Immutable: new(true)}
	api := newServer(t, fixed, secret)
	for name, tc := range map[string]struct {
		update func() error
		ok     bool
	}{
		"labels": {ok: true, update: func() error {
			cm := get(t, api, "fixed")
			cm.Labels = map[string]string{"a": "b"}
			_, err := api.Client.CoreV1().ConfigMaps(demo).Update(t.Context(), cm, metav1.UpdateOptions{})
			return err
		}},
		"data": {update: func() error {
			cm := get(t, api, "fixed")
			cm.Data["key"] = "new"
			_, err := api.Client.CoreV1().ConfigMaps(demo).Update(t.Context(), cm, metav1.UpdateOptions{})
			return err
		}},
		"that it is": {update: func() error {
			cm := get(t, api, "fixed")
			cm.Immutable = nil
			_, err := api.Client.CoreV1().ConfigMaps(demo).Update(t.Context(), cm, metav1.UpdateOptions{})
			return err
		}},
		"data of a Secret": {update: func() error {
			_, err := api.Client.CoreV1().Secrets(demo).Patch(t.Context(), "fixed", types.MergePatchType, []byte(`{"data":{"a":"Yg=="}}`), metav1.PatchOptions{})
			return err
		}},
		"the type of a Secret": {update: func() error {
			_, err := api.Client.CoreV1().Secrets(demo).Patch(t.Context(), "fixed", types.MergePatchType, []byte(`{"type":"Opaque"}`), metav1.PatchOptions{})
			return err
		}},
	} {
		if err := tc.update(); (err == nil) != tc.ok || (err != nil && !apierrors.IsInvalid(err)) {
			t.Errorf("%s: it says %v", name, err)
		}
	}
}

// TestDryRun: a dry run gets the answer of a real write, and stores nothing.
func TestDryRun(t *testing.T) {
	api := newServer(t, configMap("there", "old"))
	before := api.Version()
	all := []string{metav1.DryRunAll}
	maps := api.Client.CoreV1().ConfigMaps(demo)
	if made, err := maps.Create(t.Context(), configMap("new", "x"), metav1.CreateOptions{DryRun: all}); err != nil || made.UID == "" {
		t.Errorf("create says %v, %v", made, err)
	}
	if _, err := maps.Create(t.Context(), configMap("there", "x"), metav1.CreateOptions{DryRun: all}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("create of what there is says %v", err)
	}
	cm := get(t, api, "there")
	cm.Data["key"] = "new"
	if changed, err := maps.Update(t.Context(), cm, metav1.UpdateOptions{DryRun: all}); err != nil || changed.Data["key"] != "new" {
		t.Errorf("update says %v, %v", changed, err)
	}
	if changed, err := maps.Patch(t.Context(), "there", types.MergePatchType, []byte(`{"data":{"key":"p"}}`), metav1.PatchOptions{DryRun: all}); err != nil || changed.Data["key"] != "p" {
		t.Errorf("patch says %v, %v", changed, err)
	}
	if err := maps.Delete(t.Context(), "there", metav1.DeleteOptions{DryRun: all}); err != nil {
		t.Errorf("delete says %v", err)
	}
	if api.Version() != before || get(t, api, "there").Data["key"] != "old" {
		t.Error("something was stored")
	}
}

// TestStatusIsApart: an update does not write the status, and a status update writes nothing else.
func TestStatusIsApart(t *testing.T) {
	api := newServer(t)
	configurations := api.Own.ConfigV1alpha1().RotationConfigurations(demo)
	made := &configv1alpha1.RotationConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	made.Status.ObservedGeneration = 9
	live, err := configurations.Create(t.Context(), made, metav1.CreateOptions{})
	if err != nil || live.Status.ObservedGeneration != 0 || live.Generation != 1 {
		t.Fatalf("made with status %+v, generation %d: %v", live.Status, live.Generation, err)
	}
	live.Spec.TrustDomains, live.Status.ObservedGeneration = []configv1alpha1.TrustDomain{{Name: "web"}}, 9
	if live, err = configurations.Update(t.Context(), live, metav1.UpdateOptions{}); err != nil || live.Status.ObservedGeneration != 0 || live.Generation != 2 {
		t.Fatalf("updated to status %+v, generation %d: %v", live.Status, live.Generation, err)
	}
	live.Spec.TrustDomains, live.Status.ObservedGeneration = nil, 2
	if live, err = configurations.UpdateStatus(t.Context(), live, metav1.UpdateOptions{}); err != nil || live.Status.ObservedGeneration != 2 || len(live.Spec.TrustDomains) != 1 || live.Generation != 2 {
		t.Fatalf("status updated to %+v: %v", live, err)
	}
	apply := func(uid types.UID, generation int64) (*configv1alpha1.RotationConfiguration, error) {
		wanted := configapply.RotationConfiguration("web", demo).WithUID(uid).
			WithStatus(configapply.RotationConfigurationStatus().WithObservedGeneration(generation))
		return configurations.ApplyStatus(t.Context(), wanted, metav1.ApplyOptions{FieldManager: "test", Force: true})
	}
	if _, err := apply("other", 3); !apierrors.IsConflict(err) {
		t.Errorf("applied to another one: %v", err)
	}
	if live, err = apply(live.UID, 3); err != nil || live.Status.ObservedGeneration != 3 || len(live.Spec.TrustDomains) != 1 {
		t.Errorf("applied: %+v, %v", live, err)
	}
	before := api.Version()
	if _, err := apply(live.UID, 3); err != nil || api.Version() != before {
		t.Errorf("applied again: version %d, was %d: %v", api.Version(), before, err)
	}
	pod, err := api.Client.CoreV1().Pods(demo).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}, metav1.CreateOptions{})
	if err != nil || pod.Status.Phase != corev1.PodPending {
		t.Errorf("a pod begins as %s: %v", pod.Status.Phase, err)
	}
}

func TestPatches(t *testing.T) {
	for name, tc := range map[string]struct {
		kind  types.PatchType
		patch string
		says  func(error) bool
	}{
		"merge":                       {kind: types.MergePatchType, patch: `{"data":{"key":"new"}}`},
		"merge of a version":          {kind: types.MergePatchType, patch: `{"metadata":{"uid":"uid-1","resourceVersion":"1"},"data":{"key":"new"}}`},
		"merge of another version":    {kind: types.MergePatchType, patch: `{"metadata":{"resourceVersion":"7"},"data":{"key":"new"}}`, says: apierrors.IsConflict},
		"merge of another UID":        {kind: types.MergePatchType, patch: `{"metadata":{"uid":"x"},"data":{"key":"new"}}`, says: apierrors.IsConflict},
		"strategic merge":             {kind: types.StrategicMergePatchType, patch: `{"data":{"key":"new"}}`},
		"JSON":                        {kind: types.JSONPatchType, patch: `[{"op":"replace","path":"/data/key","value":"new"}]`},
		"JSON with a test":            {kind: types.JSONPatchType, patch: `[{"op":"test","path":"/metadata/resourceVersion","value":"1"},{"op":"replace","path":"/data/key","value":"new"}]`},
		"JSON with a test that fails": {kind: types.JSONPatchType, patch: `[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"replace","path":"/data/key","value":"new"}]`, says: apierrors.IsInvalid},
		"apply is not answered":       {kind: types.ApplyPatchType, patch: `{}`, says: apierrors.IsBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			api := newServer(t, configMap("there", "old"))
			changed, err := api.Client.CoreV1().ConfigMaps(demo).Patch(t.Context(), "there", tc.kind, []byte(tc.patch), metav1.PatchOptions{})
			if (err != nil) != (tc.says != nil) || (err != nil && !tc.says(err)) {
				t.Fatalf("it says %v", err)
			}
			if err == nil && (changed.Data["key"] != "new" || changed.ResourceVersion != "2") {
				t.Errorf("answered %+v", changed)
			}
		})
	}
}

// TestAnswer: a review or a subresource gets the set answer, is not stored, and meets faults.
func TestAnswer(t *testing.T) {
	api := newServer(t)
	api.Answer("configmaps", func(r *apifake.Request) (runtime.Object, error) { return configMap("answer to "+r.Name, ""), nil })
	got, err := create(t, api, configMap("a", ""))
	if err != nil || got.Name != "answer to a" || api.Version() != 0 || len(api.Actions()) != 1 {
		t.Errorf("answered %v, version %d: %v", got, api.Version(), err)
	}
	api.Fault = func(*apifake.Request) apifake.Fault { return apifake.Forbidden }
	if _, err := create(t, api, configMap("a", "")); !apierrors.IsForbidden(err) {
		t.Errorf("it says %v", err)
	}
	api.ForgetActions()
	if len(api.Actions()) != 0 {
		t.Error("the actions are not forgotten")
	}
}

// TestPutAndDrop: Put and Drop are not counted as writes, and meet no fault.
func TestPutAndDrop(t *testing.T) {
	api := newServer(t)
	api.Fault = func(*apifake.Request) apifake.Fault { return apifake.CrashAfterWrite }
	for _, value := range []string{"a", "b"} {
		if err := api.Put(configMap("there", value)); err != nil {
			t.Fatal(err)
		}
	}
	cm, _ := apifake.Get(api, configMap("there", ""))
	if cm.Data["key"] != "b" || cm.UID != "uid-1" || cm.ResourceVersion != "2" {
		t.Errorf("stored %+v", cm)
	}
	if err := api.Drop(cm); err != nil {
		t.Fatal(err)
	}
	if err := api.Drop(cm); !apierrors.IsNotFound(err) {
		t.Errorf("a second Drop says %v", err)
	}
	if api.Writes() != 0 || api.Dead() || api.Version() != 3 {
		t.Errorf("%d writes, version %d", api.Writes(), api.Version())
	}
	api.Begin(100)
	if err := api.Put(configMap("late", "")); err != nil || api.Version() != 101 {
		t.Errorf("version %d: %v", api.Version(), err)
	}
}

// TestStoredIsNotShared: a client cannot change the store through objects that it read or wrote.
func TestStoredIsNotShared(t *testing.T) {
	mine := configMap("there", "old")
	api := newServer(t, mine)
	mine.Data["key"] = "changed"
	get(t, api, "there").Data["key"] = "changed"
	made, err := create(t, api, configMap("new", "old"))
	if err != nil {
		t.Fatal(err)
	}
	made.Data["key"] = "changed"
	want := []string{"old", "old"}
	var got []string
	for _, cm := range apifake.All(api, apifake.Live, &corev1.ConfigMap{}, demo) {
		got = append(got, cm.Data["key"])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
