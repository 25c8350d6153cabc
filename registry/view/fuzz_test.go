// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
)

// FuzzClientVersions sends any continue token and resource version to list, get and watch. The answer is a result,
// or a status that tells what is wrong with the request. It is never a panic or a 500. Requests that the handlers
// of k8s.io/apiserver refuse before they reach a storage need no status here.
func FuzzClientVersions(f *testing.F) {
	cfg := podConfig()
	cfg.Epochs = etcdAt(100)
	s := syncedStore(f, cfg)
	mustApply(f, s, set(pod("ns", "a")), set(pod("ns", "b")), set(pod("other", "a")))
	reader := NewReader(s, cfg.Resource, cfg.NewFunc, cfg.NewListFunc, "pod", rest.NewDefaultTableConvertor(cfg.Resource))
	current, err := s.GetCurrentResourceVersion(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	for _, version := range []string{
		"", "0", "1", "-1", "00", "x", "1.5", " 1", "\x00", "18446744073709551615", "18446744073709551616", "9223372036854775808",
		format(current), format(current - 1), format(current + 1), format(epochStart(77)), format(epochStart(1 << 20)), format(epochStart(epochLimit - 1)),
	} {
		f.Add(version, "", int64(0), byte(0), true)
		f.Add(version, "", int64(1), byte(1), false)
		f.Add(version, "", int64(-1), byte(2), true)
		f.Add("", version, int64(1), byte(3), true)
		f.Add(version, "", int64(0), byte(3), false)
	}
	for _, rv := range []int64{-2, -1, 0, 1, int64(current), int64(current) + 1, 1<<63 - 1} {
		for _, key := range []string{"/pods/ns/a", "/pods/", "/pods/zz", "/pods/../etc", "/pods/ns/a\x00"} {
			if token, err := storage.EncodeContinue(key, "/pods/", rv); err == nil {
				f.Add("", token, int64(1), byte(0), true)
				f.Add("0", token, int64(0), byte(0), false)
			}
		}
	}
	f.Add("", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8uLi8ifQ", int64(2), byte(0), true)
	f.Add("", "eyJ2IjoidjAifQ==", int64(2), byte(0), true)

	f.Fuzz(func(t *testing.T, version, token string, limit int64, match byte, namespaced bool) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if namespaced {
			ctx = genericapirequest.WithNamespace(ctx, "ns")
		}
		options := &metainternalversion.ListOptions{
			ResourceVersion: version, Continue: token, Limit: limit,
			ResourceVersionMatch: []metav1.ResourceVersionMatch{
				"", metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan, metav1.ResourceVersionMatch(version),
			}[match%4],
		}
		list, err := reader.List(ctx, options)
		answered(t, options, err)
		if err == nil && len(list.(*example.PodList).Items) > 3 {
			t.Errorf("%d items", len(list.(*example.PodList).Items))
		}
		if namespaced {
			_, err = reader.Get(ctx, "a", &metav1.GetOptions{ResourceVersion: version})
			answered(t, &metainternalversion.ListOptions{}, err)
		}
		options.SendInitialEvents = []*bool{nil, new(true), new(false), nil}[match%4]
		options.Watch, options.AllowWatchBookmarks = true, namespaced
		w, err := reader.Watch(ctx, options)
		answered(t, options, err)
		if err == nil {
			watched(t, options, w)
		}
	})
}

// answered fails for an error that kube clients would take for a fault of the server.
func answered(t *testing.T, options *metainternalversion.ListOptions, err error) {
	t.Helper()
	if err == nil || len(validation.ValidateListOptions(options, true)) > 0 {
		return
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		t.Fatalf("no API status: %v", err)
	}
	if code := status.Status().Code; code < http.StatusBadRequest || code == http.StatusInternalServerError {
		t.Fatalf("code %d: %v", code, err)
	}
}

// watched checks the events that a watch sends at once, and stops it.
func watched(t *testing.T, options *metainternalversion.ListOptions, w watch.Interface) {
	t.Helper()
	defer w.Stop()
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return
			}
			if e.Type == watch.Error {
				answered(t, options, apierrors.FromObject(e.Object))
				return
			}
		default:
			return
		}
	}
}
