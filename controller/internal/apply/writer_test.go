// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"certrotation.dev/test/apifake"
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	errRefused = errors.New("refused by the caller")
)

func configMap(version, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "bundle", UID: "u-1", ResourceVersion: version},
		Data:       map[string]string{"key": value},
	}
}

// server answers the requests of a Writer and counts its writes.
type server struct {
	*apifake.Server

	writes []string
}

// newServer stores an object at its resource version, unless it is nil.
func newServer(t *testing.T, there *corev1.ConfigMap) *server {
	t.Helper()
	s := &server{Server: apifake.New(t, clock.RealClock{})}
	if there != nil {
		version, err := strconv.Atoi(there.ResourceVersion)
		if err != nil {
			t.Fatal(err)
		}
		s.Begin(version - 1)
		if err := s.Put(there); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *server) writer() Writer[*corev1.ConfigMap] {
	return To(s.Client.CoreV1().ConfigMaps("demo"), "configmaps", By{FieldManager: "test", Count: func(verb, resource, result string) {
		s.writes = append(s.writes, verb+" "+resource+" "+result)
	}})
}

func TestWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		there   *corev1.ConfigMap
		version string
		value   string
		refuses bool
		fault   apifake.Fault
		goes    bool
		writes  []string
		wrote   bool
		err     func(error) bool
	}{
		"made":                          {version: Absent, value: "new", writes: []string{"create configmaps done"}, wrote: true},
		"made, in whichever version":    {version: Any, value: "new", writes: []string{"create configmaps done"}, wrote: true},
		"changed":                       {there: configMap("7", "old"), version: "7", value: "new", writes: []string{"update configmaps done"}, wrote: true},
		"changed, in whichever version": {there: configMap("7", "old"), version: Any, value: "new", writes: []string{"update configmaps done"}, wrote: true},
		"as it should be":               {there: configMap("7", "same"), version: "7", value: "same"},
		"there already": {
			there: configMap("7", "old"), version: Absent, value: "new",
			writes: []string{"create configmaps conflict"}, wrote: true, err: apierrors.IsAlreadyExists,
		},
		"another version": {there: configMap("8", "old"), version: "7", value: "new", err: isStale},
		"gone":            {version: "7", value: "new", err: isStale},
		"gone between read and write": {
			there: configMap("7", "old"), version: "7", value: "new", goes: true,
			writes: []string{"update configmaps error"}, wrote: true, err: isStale,
		},
		"changed between read and write": {
			there: configMap("7", "old"), version: Any, value: "new", fault: apifake.Conflict,
			writes: []string{"update configmaps conflict"}, wrote: true, err: apierrors.IsConflict,
		},
		"forbidden": {
			there: configMap("7", "old"), version: "7", value: "new", fault: apifake.Forbidden,
			writes: []string{"update configmaps error"}, wrote: true, err: apierrors.IsForbidden,
		},
		"refused by the caller": {there: configMap("7", "old"), version: "7", refuses: true, err: func(err error) bool { return errors.Is(err, errRefused) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, tc.there)
			s.Admit = func(r *apifake.Request) error {
				if tc.goes {
					return s.Drop(tc.there)
				}
				return nil
			}
			s.Fault = func(*apifake.Request) apifake.Fault { return tc.fault }
			empty := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "bundle"}}
			got, wrote, err := s.writer().Write(t.Context(), empty, tc.version, func(object *corev1.ConfigMap, exists bool) error {
				if exists != (tc.there != nil && tc.version != Absent) {
					t.Errorf("change is told that it exists: %t", exists)
				}
				if tc.refuses {
					return errRefused
				}
				object.Data = map[string]string{"key": tc.value}
				return nil
			})
			if (err != nil) != (tc.err != nil) || (err != nil && !tc.err(err)) {
				t.Fatalf("error: %v", err)
			}
			if diff := cmp.Diff(tc.writes, s.writes); diff != "" || wrote != tc.wrote {
				t.Errorf("wrote %t, writes (-want +got):\n%s", wrote, diff)
			}
			if err == nil && got.Data["key"] != tc.value {
				t.Errorf("the object that is returned holds %q", got.Data["key"])
			}
		})
	}
}

func isStale(err error) bool { return errors.Is(err, ErrStale) }

func TestReplace(t *testing.T) {
	for name, tc := range map[string]struct {
		there   *corev1.ConfigMap
		anew    bool
		refused error
		writes  []string
	}{
		"made":                   {writes: []string{"create configmaps done"}},
		"outdated":               {there: configMap("7", "old"), anew: true, writes: []string{"delete configmaps done", "create configmaps done"}},
		"as it should be":        {there: configMap("7", "new")},
		"not ours to be deleted": {there: configMap("7", "old"), refused: errRefused},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, tc.there)
			err := s.writer().Replace(t.Context(), configMap("", "new"), func(*corev1.ConfigMap) (bool, error) { return tc.anew, tc.refused })
			if !errors.Is(err, tc.refused) {
				t.Errorf("error: %v", err)
			}
			if diff := cmp.Diff(tc.writes, s.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeleteIsOfWhatWasSeen checks the preconditions of a deletion.
func TestDeleteIsOfWhatWasSeen(t *testing.T) {
	s := newServer(t, configMap("7", "old"))
	var asked *metav1.Preconditions
	s.Stored = func(r *apifake.Request) { asked = r.Preconditions }
	if err := s.writer().Delete(t.Context(), "bundle", "u-1", "7"); err != nil {
		t.Fatal(err)
	}
	if asked == nil || asked.UID == nil || *asked.UID != "u-1" || asked.ResourceVersion == nil || *asked.ResourceVersion != "7" {
		t.Errorf("preconditions: %+v", asked)
	}
}

func TestBenign(t *testing.T) {
	conflict := apierrors.NewConflict(configMaps, "bundle", errors.New("changed"))
	forbidden := apierrors.NewForbidden(configMaps, "bundle", errors.New("no right"))
	ended := func(err error) bool { return errors.Is(err, context.Canceled) }
	for name, tc := range map[string]struct {
		err  error
		also func(error) bool
		want bool
	}{
		"stale":                        {err: ErrStale, want: true},
		"a conflict":                   {err: conflict, want: true},
		"a conflict of a write":        {err: &WriteError{Verb: VerbUpdate, Err: conflict}, want: true},
		"there already":                {err: apierrors.NewAlreadyExists(configMaps, "bundle"), want: true},
		"forbidden":                    {err: forbidden},
		"two that are":                 {err: errors.Join(ErrStale, conflict), want: true},
		"one of two that is not":       {err: errors.Join(ErrStale, forbidden)},
		"what the caller takes so":     {err: context.Canceled, also: ended, want: true},
		"what the caller takes so not": {err: forbidden, also: ended},
	} {
		t.Run(name, func(t *testing.T) {
			var also []func(error) bool
			if tc.also != nil {
				also = append(also, tc.also)
			}
			if got := Benign(tc.err, also...); got != tc.want {
				t.Errorf("benign: %t", got)
			}
		})
	}
}
