// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/utils/ptr"

	"certrotation.dev/test/apifake"
)

func secret(name string, kind corev1.SecretType, labels map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: demo, Name: name, Labels: labels}, Type: kind}
}

// events returns a watch's pending events, as "ADDED name@version".
func events(w watch.Interface) []string {
	var out []string
	for {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				return append(out, "end")
			}
			if status, ok := e.Object.(*metav1.Status); ok {
				out = append(out, fmt.Sprintf("%s %s", e.Type, status.Reason))
				continue
			}
			o := e.Object.(metav1.Object)
			text := fmt.Sprintf("%s %s@%s", e.Type, o.GetName(), o.GetResourceVersion())
			if o.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "" {
				text += " initial events end"
			}
			out = append(out, text)
		default:
			return out
		}
	}
}

func TestSelectors(t *testing.T) {
	api := newServer(t, secret("a", corev1.SecretTypeTLS, map[string]string{"x": "1"}), secret("b", corev1.SecretTypeOpaque, map[string]string{"x": "1"}), secret("c", corev1.SecretTypeTLS, nil))
	other := secret("a", corev1.SecretTypeTLS, nil)
	other.Namespace = "elsewhere"
	if err := api.Put(other); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		namespace string
		opts      metav1.ListOptions
		want      string
	}{
		"all of a namespace": {namespace: demo, want: "a b c"},
		"all":                {want: "a b c a"},
		"by label":           {namespace: demo, opts: metav1.ListOptions{LabelSelector: "x=1"}, want: "a b"},
		"by type":            {namespace: demo, opts: metav1.ListOptions{FieldSelector: "type=kubernetes.io/tls"}, want: "a c"},
		"by another type":    {namespace: demo, opts: metav1.ListOptions{FieldSelector: "type!=kubernetes.io/tls"}, want: "b"},
		"by name":            {opts: metav1.ListOptions{FieldSelector: "metadata.name=a"}, want: "a a"},
		"by both":            {namespace: demo, opts: metav1.ListOptions{FieldSelector: "type=kubernetes.io/tls", LabelSelector: "x"}, want: "a"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := api.Client.CoreV1().Secrets(tc.namespace).List(t.Context(), tc.opts)
			if err != nil {
				t.Fatal(err)
			}
			metas, err := api.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(tc.namespace).List(t.Context(), tc.opts)
			if err != nil {
				t.Fatal(err)
			}
			var got, shown []string
			for i := range list.Items {
				got = append(got, list.Items[i].Name)
			}
			for i := range metas.Items {
				shown = append(shown, metas.Items[i].Name)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" || !slices.Equal(got, shown) || list.ResourceVersion != "4" {
				t.Errorf("version %s, metadata of %v (-want +got):\n%s", list.ResourceVersion, shown, diff)
			}
		})
	}
	if _, err := api.Client.CoreV1().Secrets(demo).List(t.Context(), metav1.ListOptions{FieldSelector: "data.x=1"}); !apierrors.IsBadRequest(err) {
		t.Errorf("a field that nobody selects by: %v", err)
	}
}

func TestPages(t *testing.T) {
	api := newServer(t)
	for i := range 5 {
		if err := api.Put(configMap(fmt.Sprint("m", i), "")); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	opts := metav1.ListOptions{Limit: 2}
	for {
		page, err := api.Client.CoreV1().ConfigMaps(demo).List(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for i := range page.Items {
			text += page.Items[i].Name
		}
		got = append(got, fmt.Sprint(text, " ", ptr.Deref(page.RemainingItemCount, 0)))
		if opts.Continue = page.Continue; opts.Continue == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"m0m1 3", "m2m3 1", "m4 0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWatch(t *testing.T) {
	tests := map[string]struct {
		opts metav1.ListOptions
		want []string
	}{
		"from now, with what there is": {want: []string{"ADDED a@2", "MODIFIED a@4", "ADDED b@5", "DELETED a@6"}},
		"of what a cache has":          {opts: metav1.ListOptions{ResourceVersion: "0"}, want: []string{"ADDED a@2", "MODIFIED a@4", "ADDED b@5", "DELETED a@6"}},
		"from a version before":        {opts: metav1.ListOptions{ResourceVersion: "1"}, want: []string{"MODIFIED a@2", "MODIFIED a@4", "ADDED b@5", "DELETED a@6"}},
		"from the last version":        {opts: metav1.ListOptions{ResourceVersion: "3"}, want: []string{"MODIFIED a@4", "ADDED b@5", "DELETED a@6"}},
		"a streaming list": {opts: metav1.ListOptions{SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
			want: []string{"ADDED a@2", "BOOKMARK @3 initial events end", "MODIFIED a@4", "ADDED b@5", "DELETED a@6"}},
		"who leaves the selection": {opts: metav1.ListOptions{ResourceVersion: "1", LabelSelector: "in=yes"}, want: []string{"ADDED a@2", "DELETED a@4"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := configMap("a", "2")
			in.Labels = map[string]string{"in": "yes"}
			api := newServer(t, configMap("a", "1"), in, secret("s", corev1.SecretTypeTLS, nil))
			w, err := api.Client.CoreV1().ConfigMaps(demo).Watch(t.Context(), tc.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			for _, o := range []*corev1.ConfigMap{configMap("a", "4"), configMap("b", "5")} {
				if err := api.Put(o); err != nil {
					t.Fatal(err)
				}
			}
			if err := api.Drop(configMap("a", "")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, events(w)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStaleCache: watches and cached reads are behind by the lag; live reads and writes are not.
func TestStaleCache(t *testing.T) {
	tests := map[string]struct {
		lag  int
		want []string
	}{
		"up to date":       {lag: 0, want: []string{"ADDED m@1", "MODIFIED m@2", "MODIFIED m@3"}},
		"one change":       {lag: 1, want: []string{"ADDED m@1", "MODIFIED m@2"}},
		"sees nothing new": {lag: apifake.Stale, want: []string{"ADDED m@1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			api := newServer(t, configMap("m", "1"))
			api.Lag(tc.lag)
			maps := api.Client.CoreV1().ConfigMaps(demo)
			w, err := maps.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			for _, value := range []string{"2", "3"} {
				cm := get(t, api, "m")
				cm.Data["key"] = value
				if _, err := maps.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
					t.Fatalf("a write on a live read: %v", err)
				}
			}
			if diff := cmp.Diff(tc.want, events(w)); diff != "" {
				t.Errorf("watched (-want +got):\n%s", diff)
			}
			want := fmt.Sprint(len(tc.want))
			cached, err := maps.Get(t.Context(), "m", metav1.GetOptions{ResourceVersion: "0"})
			if err != nil {
				t.Fatal(err)
			}
			list, err := maps.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				t.Fatal(err)
			}
			seen := apifake.All(api, apifake.Cached, &corev1.ConfigMap{}, demo)
			if cached.Data["key"] != want || list.ResourceVersion != want || list.Items[0].Data["key"] != want || seen[0].Data["key"] != want || fmt.Sprint(api.CachedVersion()) != want {
				t.Errorf("the cache has %s, lists %s at version %s, want %s", cached.Data["key"], list.Items[0].Data["key"], list.ResourceVersion, want)
			}
			if get(t, api, "m").Data["key"] != "3" {
				t.Error("a live read is behind")
			}
			api.Lag(0)
			if got := append(tc.want, events(w)...); len(got) != 3 || api.CachedVersion() != 3 {
				t.Errorf("after the release: %v", got)
			}
		})
	}
}

// TestNoGapBehindALiveList: a client that has listed live gets no events of changes in that list.
func TestNoGapBehindALiveList(t *testing.T) {
	api := newServer(t, configMap("m", "1"))
	api.Lag(apifake.Stale)
	if err := api.Put(configMap("m", "2")); err != nil {
		t.Fatal(err)
	}
	list, err := api.Client.CoreV1().ConfigMaps(demo).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := api.Client.CoreV1().ConfigMaps(demo).Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := api.Put(configMap("m", "3")); err != nil {
		t.Fatal(err)
	}
	api.Lag(0)
	if diff := cmp.Diff([]string{"MODIFIED m@3"}, events(w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExpire: Expire ends watches as a restart of the server does.
func TestExpire(t *testing.T) {
	api := newServer(t, configMap("a", ""), configMap("b", ""))
	maps := api.Client.CoreV1().ConfigMaps(demo)
	w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "2"})
	if err != nil {
		t.Fatal(err)
	}
	api.Expire()
	if diff := cmp.Diff([]string{"ERROR Expired", "end"}, events(w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from before says %v", err)
	}
	if _, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "2"}); err != nil {
		t.Errorf("a watch from now says %v", err)
	}
}

// TestWhoIsTooSlow: a watch that is too slow ends, and a watch from a forgotten version fails.
func TestWhoIsTooSlow(t *testing.T) {
	api := newServer(t)
	maps := api.Client.CoreV1().ConfigMaps(demo)
	w, err := maps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		if err := api.Put(configMap("m", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if got := events(w); got[len(got)-1] != "end" {
		t.Errorf("it is told of %d changes", len(got))
	}
	if _, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "7"}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from long ago says %v", err)
	}
}

// TestInformers: informers of objects and of metadata follow the writes of several clients.
func TestInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, configMap("before", ""))
		ctx, cancel := context.WithCancel(t.Context())
		objects := informers.NewSharedInformerFactory(api.Client, 0)
		metas := metadatainformer.NewSharedInformerFactory(api.Metadata, 0)
		configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
		whole, meta := objects.Core().V1().ConfigMaps().Informer(), metas.ForResource(configMaps).Informer()
		objects.Start(ctx.Done())
		metas.Start(ctx.Done())
		var writers sync.WaitGroup
		for i := range 4 {
			writers.Go(func() {
				for n := range 10 {
					if _, err := create(t, api, configMap(fmt.Sprintf("m-%d-%d", i, n), "")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		synctest.Wait()
		if !whole.HasSynced() || !meta.HasSynced() {
			t.Error("not synced")
		}
		if a, b := len(whole.GetStore().ListKeys()), len(meta.GetStore().ListKeys()); a != 41 || b != 41 {
			t.Errorf("%d objects and the metadata of %d, want 41", a, b)
		}
		cancel()
		objects.Shutdown()
		metas.Shutdown()
	})
}
