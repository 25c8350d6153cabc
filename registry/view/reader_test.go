// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"
)

func newPodReader(t *testing.T) (*Reader, *Store) {
	t.Helper()
	cfg := podConfig()
	s := syncedStore(t, cfg)
	labelled := func(p *example.Pod) { p.Labels = map[string]string{"app": "x"} }
	mustApply(t, s, set(pod("one", "a", labelled)), set(pod("one", "b", onNode("n1"))), set(pod("two", "a", onNode("n1"))), set(pod("two", "c", labelled)))
	return NewReader(s, cfg.Resource, cfg.NewFunc, cfg.NewListFunc, "pod", rest.NewDefaultTableConvertor(cfg.Resource)), s
}

func in(t *testing.T, namespace string) context.Context {
	return genericapirequest.WithNamespace(t.Context(), namespace)
}

func TestReaderOffersNoWrites(t *testing.T) {
	r, _ := newPodReader(t)
	var storage rest.Storage = r
	for verb, offered := range map[string]bool{
		"create": is[rest.Creater](storage),
		"update": is[rest.Updater](storage),
		"delete": is[rest.GracefulDeleter](storage),
		"patch":  is[rest.Patcher](storage),
		"purge":  is[rest.CollectionDeleter](storage),
	} {
		if offered {
			t.Errorf("the installer would advertise %s", verb)
		}
	}
	if !r.NamespaceScoped() || r.GetSingularName() != "pod" {
		t.Errorf("scoped: %v, singular %q", r.NamespaceScoped(), r.GetSingularName())
	}
}

func is[T any](object any) bool {
	_, ok := object.(T)
	return ok
}

func TestReaderGet(t *testing.T) {
	r, s := newPodReader(t)
	tests := []struct {
		name, namespace, object, version string
		want                             metav1.StatusReason
	}{
		{"found", "one", "a", "", ""},
		{"any version", "one", "a", "0", ""},
		{"other namespace", "one", "c", "", metav1.StatusReasonNotFound},
		{"future", "one", "a", format(currentRevision(t, s) + 1), metav1.StatusReasonTimeout},
		{"not a version", "one", "a", "x", metav1.StatusReasonBadRequest},
		{"no namespace", "", "a", "", metav1.StatusReasonBadRequest},
		{"no name", "one", "", "", metav1.StatusReasonBadRequest},
		{"path as a name", "one", "../two/c", "", metav1.StatusReasonBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			object, err := r.Get(in(t, tt.namespace), tt.object, &metav1.GetOptions{ResourceVersion: tt.version})
			if got := reasonOf(err); got != tt.want {
				t.Fatalf("reason %q, want %q", got, tt.want)
			}
			if err == nil && object.(*example.Pod).Name != tt.object {
				t.Errorf("got %v", object)
			}
		})
	}
	object, err := r.Get(in(t, "one"), "a", nil)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	object.(*example.Pod).Labels["app"] = "changed"
	if again, _ := r.Get(in(t, "one"), "a", nil); again.(*example.Pod).Labels["app"] != "x" {
		t.Error("a caller changed the stored object")
	}
}

func TestReaderList(t *testing.T) {
	r, s := newPodReader(t)
	tests := []struct {
		name, namespace string
		options         *metainternalversion.ListOptions
		want            []string
		wantErr         metav1.StatusReason
	}{
		{name: "all", want: []string{"one/a", "one/b", "two/a", "two/c"}},
		{name: "of a namespace", namespace: "one", want: []string{"one/a", "one/b"}},
		{name: "of no namespace at all", namespace: "o", want: nil},
		{name: "by label", options: &metainternalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"app": "x"})}, want: []string{"one/a", "two/c"}},
		{name: "by field", options: byField("spec.nodeName=n1"), want: []string{"one/b", "two/a"}},
		{name: "by name in a namespace", namespace: "two", options: byField("metadata.name=a"), want: []string{"two/a"}},
		{name: "by name and field", namespace: "two", options: byField("metadata.name=a,spec.nodeName=n2"), want: nil},
		{name: "by name everywhere", options: byField("metadata.name=a"), want: []string{"one/a", "two/a"}},
		{name: "at a revision", options: &metainternalversion.ListOptions{ResourceVersion: "3", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, want: []string{"one/a", "one/b"}},
		{name: "ahead", options: &metainternalversion.ListOptions{ResourceVersion: format(currentRevision(t, s) + 1)}, wantErr: metav1.StatusReasonTimeout},
		{name: "bad token", options: &metainternalversion.ListOptions{Continue: "x"}, wantErr: metav1.StatusReasonBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := r.List(in(t, tt.namespace), tt.options)
			if got := reasonOf(err); got != tt.wantErr {
				t.Fatalf("reason %q, want %q", got, tt.wantErr)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tt.want, names(list.(*example.PodList))); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if list.(*example.PodList).Items == nil {
				t.Error("items are nil, which is null in JSON")
			}
		})
	}
}

func byField(selector string) *metainternalversion.ListOptions {
	return &metainternalversion.ListOptions{FieldSelector: fields.ParseSelectorOrDie(selector)}
}

func names(list *example.PodList) []string {
	var keys []string
	for _, p := range list.Items {
		keys = append(keys, p.Namespace+"/"+p.Name)
	}
	return keys
}

func TestReaderPages(t *testing.T) {
	r, s := newPodReader(t)
	var got []string
	options := &metainternalversion.ListOptions{Limit: 3}
	for page := 0; ; page++ {
		object, err := r.List(t.Context(), options)
		if err != nil {
			t.Fatalf("page %d: %v", page, err)
		}
		list := object.(*example.PodList)
		got = append(got, names(list)...)
		if page == 0 && ptr.Deref(list.RemainingItemCount, -1) != 1 {
			t.Errorf("remaining %v, want 1", list.RemainingItemCount)
		}
		if list.Continue == "" {
			break
		}
		mustApply(t, s, set(pod("two", "later")), remove("two", "c"))
		options.Continue = list.Continue
	}
	if diff := cmp.Diff([]string{"one/a", "one/b", "two/a", "two/c"}, got); diff != "" {
		t.Errorf("items of all pages (-want +got):\n%s", diff)
	}
}

func TestReaderWatchesAsAList(t *testing.T) {
	r, s := newPodReader(t)
	last := currentRevision(t, s)
	w, err := r.Watch(in(t, "two"), &metainternalversion.ListOptions{
		SendInitialEvents:    new(true),
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
	})
	if err != nil {
		t.Fatalf("Watch: %v", err)
	}
	defer w.Stop()
	for _, name := range []string{"a", "c"} {
		if e, _ := received(t, w); e.Type != watch.Added || e.Object.(*example.Pod).Name != name {
			t.Errorf("got %v %v, want ADDED %s", e.Type, e.Object, name)
		}
	}
	e, _ := received(t, w)
	want := &example.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: format(last),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	if diff := cmp.Diff(watch.Event{Type: watch.Bookmark, Object: want}, e); diff != "" {
		t.Errorf("end of the initial events (-want +got):\n%s", diff)
	}
	r.Destroy()
	if _, open := received(t, w); open {
		t.Error("the watch survived Destroy")
	}
	if _, err := r.Watch(t.Context(), &metainternalversion.ListOptions{ResourceVersion: "x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("watch from no version: %v, want a bad request", err)
	}
}
