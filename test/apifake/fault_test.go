// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/apifake"
)

func isCrash(err error) bool { return errors.Is(err, apifake.ErrCrash) }

// TestFaults injects each fault into a creation, an update, a patch and a deletion.
func TestFaults(t *testing.T) {
	tests := map[apifake.Fault]struct {
		says     func(error) bool
		happened bool
		dead     bool
	}{
		apifake.Conflict:           {says: apierrors.IsConflict},
		apifake.AlreadyExists:      {says: apierrors.IsAlreadyExists},
		apifake.Forbidden:          {says: apierrors.IsForbidden},
		apifake.InternalError:      {says: apierrors.IsInternalError},
		apifake.Unavailable:        {says: apierrors.IsServiceUnavailable},
		apifake.TimeoutBeforeWrite: {says: apierrors.IsTimeout},
		apifake.TimeoutAfterWrite:  {says: apierrors.IsTimeout, happened: true},
		apifake.CrashBeforeWrite:   {says: isCrash, dead: true},
		apifake.CrashAfterWrite:    {says: isCrash, happened: true, dead: true},
	}
	for _, fault := range apifake.WriteFaults() {
		if _, ok := tests[fault]; !ok {
			t.Errorf("nothing is said of %q", fault)
		}
	}
	for fault, tc := range tests {
		for _, write := range append(writes(), unstructuredWrites()...) {
			t.Run(string(fault)+", "+write.name, func(t *testing.T) {
				api := newServer(t, configMap("there", "old"))
				before := api.Version()
				api.Fault = func(*apifake.Request) apifake.Fault { return fault }
				told := 0
				api.Stored = func(*apifake.Request) { told++ }
				if err := write.do(t, api); !tc.says(err) {
					t.Errorf("it says %v", err)
				}
				if happened := api.Version() != before; happened != tc.happened || (told == 1) != tc.happened {
					t.Errorf("it has happened: %t, want %t; told of %d writes", happened, tc.happened, told)
				}
				if api.Dead() != tc.dead {
					t.Errorf("the process is dead: %t, want %t", api.Dead(), tc.dead)
				}
				api.Fault = nil
				if _, err := create(t, api, configMap("later", "x")); isCrash(err) != tc.dead {
					t.Errorf("a later write says %v", err)
				}
				api.Revive()
				if _, err := create(t, api, configMap("of the next process", "x")); err != nil {
					t.Errorf("a write of the next process says %v", err)
				}
			})
		}
	}
}

// TestReadFaults: reads do not count as writes, and a failed read does not end the process.
func TestReadFaults(t *testing.T) {
	for fault, says := range map[apifake.Fault]func(error) bool{
		apifake.FailedRead: apierrors.IsInternalError, apifake.Forbidden: apierrors.IsForbidden, apifake.Unavailable: apierrors.IsServiceUnavailable,
		apifake.NotServed: apierrors.IsNotFound,
	} {
		t.Run(string(fault), func(t *testing.T) {
			api := newServer(t, configMap("there", "old"))
			api.ReadFault = func(r *apifake.Request) apifake.Fault {
				if r.Resource.Resource == "configmaps" {
					return fault
				}
				return apifake.NoFault
			}
			maps, get := api.Client.CoreV1().ConfigMaps(demo), metav1.GetOptions{}
			_, gotten := maps.Get(t.Context(), "there", get)
			_, listed := maps.List(t.Context(), metav1.ListOptions{})
			_, watched := maps.Watch(t.Context(), metav1.ListOptions{})
			_, shown := api.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(demo).List(t.Context(), metav1.ListOptions{})
			for what, err := range map[string]error{"get": gotten, "list": listed, "watch": watched, "metadata": shown} {
				if !says(err) {
					t.Errorf("%s says %v", what, err)
				}
			}
			if _, err := api.Client.CoreV1().Secrets(demo).List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Errorf("what no fault befalls says %v", err)
			}
			if api.Writes() != 0 || api.Dead() {
				t.Errorf("%d writes, dead: %t", api.Writes(), api.Dead())
			}
			if _, ok := apifake.Get(api, configMap("there", "")); !ok {
				t.Error("a read by the test itself meets a fault")
			}
		})
	}
}

// TestAdmission: Admit changes a write, refuses one with its own error, and uses the server meanwhile.
func TestAdmission(t *testing.T) {
	api := newServer(t)
	api.Admit = func(r *apifake.Request) error {
		if r.Name == "no" {
			return apierrors.NewGenericServerResponse(418, r.Verb, r.Resource.GroupResource(), r.Name, "denied", 0, false)
		}
		r.Object.SetLabels(map[string]string{"admitted": r.String()})
		return api.Put(configMap("by the hook", "x"))
	}
	if _, err := create(t, api, configMap("no", "")); apierrors.ReasonForError(err) != metav1.StatusReasonUnknown || err == nil {
		t.Errorf("it says %v", err)
	}
	made, err := create(t, api, configMap("yes", ""))
	if err != nil || made.Labels["admitted"] != "create configmaps yes" {
		t.Errorf("made %v: %v", made, err)
	}
	if _, ok := apifake.Get(api, configMap("by the hook", "")); !ok || api.Writes() != 2 {
		t.Errorf("the hook has written: %t; %d writes", ok, api.Writes())
	}
}
