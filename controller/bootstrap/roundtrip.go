// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// resources maps the resources of the groups to their kinds.
func resources(known *runtime.Scheme, groups ...schema.GroupVersion) map[schema.GroupVersionResource]schema.GroupVersionKind {
	out := map[schema.GroupVersionResource]schema.GroupVersionKind{}
	for _, group := range groups {
		for kind := range known.KnownTypes(group) {
			resource, _ := meta.UnsafeGuessKindToResource(group.WithKind(kind))
			out[resource] = group.WithKind(kind)
		}
	}
	return out
}

// RoundTrip answers get, list, create and update, which are all that the controllers need here. It refuses everything
// else.
func (a *API) RoundTrip(req *http.Request) (*http.Response, error) {
	code := http.StatusOK
	answer, err := a.answer(req)
	if err != nil {
		var refused apierrors.APIStatus
		if !errors.As(err, &refused) {
			return nil, err
		}
		status := refused.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		answer, code = &status, int(status.Code)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("encode the answer to %s %s: %w", req.Method, req.URL.Path, err)
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}, nil
}

func (a *API) answer(req *http.Request) (any, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	info, err := a.requests.NewRequestInfo(req)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	resource := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	kind, ok := a.kinds[resource]
	if !ok {
		return nil, apierrors.NewNotFound(resource.GroupResource(), info.Name)
	}
	live, exists := a.objects[key{kind, types.NamespacedName{Namespace: info.Namespace, Name: info.Name}}]
	switch verb := info.Verb; {
	case info.Subresource != "":
	case verb == "list":
		return a.listed(req.URL.Query(), kind, info)
	case verb == "create", verb == "update":
		return a.written(req, kind, info)
	case verb == "get" && exists:
		return live, nil
	case verb == "get":
		return nil, apierrors.NewNotFound(resource.GroupResource(), info.Name)
	}
	return nil, apierrors.NewMethodNotSupported(resource.GroupResource(), info.Verb)
}

func (a *API) listed(options url.Values, kind schema.GroupVersionKind, info *genericapirequest.RequestInfo) (any, error) {
	selected, err := labels.Parse(options.Get("labelSelector"))
	if err != nil || options.Get("fieldSelector") != "" {
		return nil, apierrors.NewBadRequest("objects are selected by their labels only")
	}
	items := []object{}
	for k, o := range a.objects {
		if k.GroupVersionKind == kind && (info.Namespace == "" || k.Namespace == info.Namespace) && selected.Matches(labels.Set(o.GetLabels())) {
			items = append(items, o)
		}
	}
	slices.SortFunc(items, func(x, y object) int { return cmp.Compare(nameOf(x).String(), nameOf(y).String()) })
	return map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind + "List", "items": items}, nil
}

func (a *API) written(req *http.Request, kind schema.GroupVersionKind, info *genericapirequest.RequestInfo) (any, error) {
	o, err := a.decode(req, kind)
	if err != nil {
		return nil, err
	}
	o.SetNamespace(info.Namespace)
	resource := schema.GroupResource{Group: kind.Group, Resource: info.Resource}
	live, exists := a.objects[key{kind, nameOf(o)}]
	switch want := o.GetResourceVersion(); {
	case info.Verb == "create" && exists:
		return nil, apierrors.NewAlreadyExists(resource, o.GetName())
	case info.Verb == "update" && !exists:
		return nil, apierrors.NewNotFound(resource, o.GetName())
	case info.Verb == "update" && want != "" && want != live.GetResourceVersion():
		return nil, apierrors.NewConflict(resource, o.GetName(), fmt.Errorf("it is at version %s, not %s", live.GetResourceVersion(), want))
	}
	a.put(kind, o)
	a.writes = append(a.writes, fmt.Sprintf("%s %s/%s", info.Verb, info.Resource, o.GetName()))
	return o, nil
}

func (a *API) decode(req *http.Request, kind schema.GroupVersionKind) (object, error) {
	made, err := a.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	o, ok := made.(object)
	if !ok {
		return nil, apierrors.NewBadRequest(kind.Kind + " is not stored")
	}
	if err := json.NewDecoder(req.Body).Decode(o); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return o, nil
}
