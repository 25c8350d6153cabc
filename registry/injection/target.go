// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
)

// Resources of the kinds that have a caBundle.
var Resources = map[configv1alpha1.InjectionKind]schema.GroupVersionResource{
	configv1alpha1.InjectValidatingWebhook: {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	configv1alpha1.InjectMutatingWebhook:   {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	configv1alpha1.InjectAPIService:        {Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	configv1alpha1.InjectCustomResource:    {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
}

// Entry is one caBundle of a target.
type Entry struct {
	// Name of the webhook; "" where a target has one caBundle.
	Name string
	// Anchors that it holds, each once; none if it is empty or cannot be read.
	Anchors []*pki.Certificate
	// Fault says why it cannot be read, "" if it can or is empty.
	Fault string
	// client is the part of the target that has the caBundle.
	client map[string]any
}

// caBundle is the field of a client configuration.
const caBundle = "caBundle"

// Entries are the caBundles of a target in their order; none where there is nobody to call, as in an APIService that
// kube-apiserver serves itself.
func Entries(kind configv1alpha1.InjectionKind, object *unstructured.Unstructured) ([]Entry, error) {
	switch kind {
	case configv1alpha1.InjectAPIService:
		spec := part(object.Object, "spec")
		if part(spec, "service") == nil {
			return nil, nil
		}
		return []Entry{entryOf("", spec)}, nil
	case configv1alpha1.InjectCustomResource:
		conversion := part(part(object.Object, "spec"), "conversion")
		client := part(part(conversion, "webhook"), "clientConfig")
		if client == nil || conversion["strategy"] != "Webhook" {
			return nil, nil
		}
		return []Entry{entryOf("", client)}, nil
	case configv1alpha1.InjectValidatingWebhook, configv1alpha1.InjectMutatingWebhook:
		return webhooks(object)
	}
	return nil, fmt.Errorf("%q has no caBundle", kind)
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
		out = append(out, entryOf(name, client))
	}
	return out, nil
}

// part is an object within another one, nil if there is none.
func part(of map[string]any, name string) map[string]any {
	out, _ := of[name].(map[string]any)
	return out
}

func entryOf(name string, client map[string]any) Entry {
	out := Entry{Name: name, client: client}
	text, _ := client[caBundle].(string)
	if text == "" {
		return out
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		out.Anchors, err = pki.ParseBundle(data)
	}
	if err != nil {
		out.Fault = err.Error()
	}
	return out
}

// Put writes anchors into the entry, and so into the object that it was read from.
func (e *Entry) Put(anchors []*pki.Certificate) {
	if len(anchors) == 0 {
		return
	}
	e.client[caBundle] = base64.StdEncoding.EncodeToString(pki.EncodeCertificates(anchors...))
	e.Anchors, e.Fault = anchors, ""
}

// Known are the entries without the object that they were read from, to be kept.
func Known(entries []Entry) []Entry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].client = nil
	}
	return out
}

// Holding is what kube-apiserver is told to verify a server by: evidence of what a target holds.
type Holding struct {
	// Entry is the name of the webhook; "" where a target has one caBundle.
	Entry   string
	Anchors []pki.Fingerprint
}

// Held says what anchors each entry holds.
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
