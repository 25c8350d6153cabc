// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
)

// Entry is one set of anchors in a target: a caBundle or the trustBundle.
type Entry struct {
	// Name of the webhook, "" if a target has one entry.
	Name string
	// Anchors that it holds, without duplicates; none if it is empty or unreadable.
	Anchors []*pki.Certificate
	// Repeats says that it has one more than once.
	Repeats bool
	// Fault says why it is unreadable, "" if it is readable or empty.
	Fault string
	place place
}

type place struct {
	part  map[string]any
	field string
	// plain means that the field has the PEM as text. Otherwise it has bytes, which JSON encodes in base64.
	plain bool
}

func (p place) read() ([]byte, error) {
	text, _ := p.part[p.field].(string)
	if p.plain {
		return []byte(text), nil
	}
	return base64.StdEncoding.DecodeString(text)
}

func (p place) write(data []byte) {
	if p.plain {
		p.part[p.field] = string(data)
		return
	}
	p.part[p.field] = base64.StdEncoding.EncodeToString(data)
}

func caBundleOf(client map[string]any) place { return place{part: client, field: "caBundle"} }

// Entries returns the anchors of a target in their order. There are none if there is no server to call, as in an
// APIService that kube-apiserver serves itself.
func Entries(kind configv1alpha1.InjectionKind, object *unstructured.Unstructured) ([]Entry, error) {
	switch kind {
	case configv1alpha1.InjectAPIService:
		spec := part(object.Object, "spec")
		if part(spec, "service") == nil {
			return nil, nil
		}
		return []Entry{entryOf("", caBundleOf(spec))}, nil
	case configv1alpha1.InjectCustomResource:
		conversion := part(part(object.Object, "spec"), "conversion")
		client := part(part(conversion, "webhook"), "clientConfig")
		if client == nil || conversion["strategy"] != "Webhook" {
			return nil, nil
		}
		return []Entry{entryOf("", caBundleOf(client))}, nil
	case configv1alpha1.InjectValidatingWebhook, configv1alpha1.InjectMutatingWebhook:
		return webhooks(object)
	case configv1alpha1.InjectTrustBundle:
		spec := part(object.Object, "spec")
		if spec == nil {
			return nil, errors.New("it has no spec")
		}
		return []Entry{entryOf("", place{part: spec, field: "trustBundle", plain: true})}, nil
	}
	return nil, fmt.Errorf("%q has no anchors", kind)
}

func webhooks(object *unstructured.Unstructured) ([]Entry, error) {
	list, _ := object.Object["webhooks"].([]any)
	out := make([]Entry, 0, len(list))
	for i, item := range list {
		webhook, _ := item.(map[string]any)
		client := part(webhook, "clientConfig")
		if client == nil {
			return nil, fmt.Errorf("webhook %d has no clientConfig", i)
		}
		name, _ := webhook["name"].(string)
		if name == "" {
			name = strconv.Itoa(i)
		}
		out = append(out, entryOf(name, caBundleOf(client)))
	}
	return out, nil
}

func part(of map[string]any, name string) map[string]any {
	out, _ := of[name].(map[string]any)
	return out
}

func entryOf(name string, at place) Entry {
	out := Entry{Name: name, place: at}
	data, err := at.read()
	// The API server takes no empty bytes for some kinds, so people begin with a newline (Cg==).
	if err == nil && len(bytes.TrimSpace(data)) > 0 {
		var anchors pki.Anchors
		anchors, err = pki.ParseAnchors(data)
		out.Anchors, out.Repeats = anchors.Certificates, anchors.Repeats
		if len(anchors.Unread) > 0 {
			// Unlike a ConfigMap, the API server refuses such an object.
			err = &anchors.Unread[0]
		}
	}
	if err != nil {
		out.Fault = err.Error()
	}
	return out
}

// Put writes anchors into the entry and the object that it was read from. It never empties an entry.
func (e *Entry) Put(anchors []*pki.Certificate) {
	if len(anchors) == 0 {
		return
	}
	e.place.write(pki.EncodeCertificates(anchors...))
	e.Anchors, e.Repeats, e.Fault = anchors, false, ""
}

// Known returns copies of the entries that do not refer to the object that they were read from, for callers that keep
// them.
func Known(entries []Entry) []Entry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].place = place{}
	}
	return out
}

// Holding is what one entry of a target holds: the anchors by which kube-apiserver verifies servers there.
type Holding struct {
	// Entry is the name of the webhook, "" if a target has one entry.
	Entry   string
	Anchors []pki.Fingerprint
}

// Held returns the anchors that each entry holds.
func Held(entries []Entry) []Holding {
	out := make([]Holding, 0, len(entries))
	for i := range entries {
		holding := Holding{Entry: entries[i].Name}
		for _, anchor := range entries[i].Anchors {
			holding.Anchors = append(holding.Anchors, anchor.Fingerprint)
		}
		out = append(out, holding)
	}
	return out
}
