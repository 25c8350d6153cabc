// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package selfcert

import (
	"bytes"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patchFor returns the JSON patch that gives a registration its CA bundle, nil if it has it. The patch fails if the
// object is not the one that was looked at, because webhooks are addressed by their position.
func patchFor(obj any, bundle []byte) ([]byte, error) {
	var (
		version string
		sets    []operation
	)
	set := func(path string, have []byte) {
		if !bytes.Equal(have, bundle) {
			sets = append(sets, operation{Op: "add", Path: path, Value: bundle})
		}
	}
	switch o := obj.(type) {
	case *apiregistrationv1.APIService:
		version = o.ResourceVersion
		// A local APIService is served by the API server itself.
		if o.Spec.Service != nil {
			set("/spec/caBundle", o.Spec.CABundle)
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		version = o.ResourceVersion
		for n := range o.Webhooks {
			set(fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", n), o.Webhooks[n].ClientConfig.CABundle)
		}
	}
	if len(sets) == 0 {
		return nil, nil
	}
	test := operation{Op: "test", Path: "/metadata/resourceVersion", Value: version}
	patch, err := json.Marshal(append([]operation{test}, sets...))
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return patch, nil
}
