// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resources of cert-manager.
var (
	Certificates = groupVersion.WithResource("certificates")
	Issuers      = groupVersion.WithResource("issuers")
)

var groupVersion = schema.GroupVersion{Group: "cert-manager.io", Version: "v1"}

// SelfSignedIssuer returns an Issuer whose certificates sign themselves.
func SelfSignedIssuer(namespace, name string) *unstructured.Unstructured {
	return object("Issuer", namespace, name, map[string]any{"selfSigned": map[string]any{}})
}

// CAIssuer returns an Issuer that signs with the CA in a Secret.
func CAIssuer(namespace, name, secret string) *unstructured.Unstructured {
	return object("Issuer", namespace, name, map[string]any{"ca": map[string]any{"secretName": secret}})
}

// CA returns the Certificate of a CA. Each issuance makes a new key. Its Secret has the same name, and the annotations.
func CA(namespace, name, issuer string, annotations map[string]string) *unstructured.Unstructured {
	spec := certificate(name, issuer, annotations)
	spec["isCA"] = true
	spec["commonName"] = name
	return object("Certificate", namespace, name, spec)
}

// Leaf returns the Certificate of a server. Each issuance makes a new key. Its Secret has the same name, and the annotations.
func Leaf(namespace, name, issuer string, annotations map[string]string, dnsNames ...string) *unstructured.Unstructured {
	spec := certificate(name, issuer, annotations)
	names := make([]any, 0, len(dnsNames))
	for _, one := range dnsNames {
		names = append(names, one)
	}
	spec["dnsNames"] = names
	spec["usages"] = []any{"digital signature", "server auth"}
	return object("Certificate", namespace, name, spec)
}

// Client returns the Certificate of a client, like Leaf. It has the name as its common name.
func Client(namespace, name, issuer string, annotations map[string]string) *unstructured.Unstructured {
	spec := certificate(name, issuer, annotations)
	spec["commonName"] = name
	spec["usages"] = []any{"digital signature", "client auth"}
	return object("Certificate", namespace, name, spec)
}

func certificate(secret, issuer string, annotations map[string]string) map[string]any {
	onSecret := map[string]any{}
	for key, value := range annotations {
		onSecret[key] = value
	}
	return map[string]any{
		"secretName":     secret,
		"secretTemplate": map[string]any{"annotations": onSecret},
		"issuerRef":      map[string]any{"name": issuer, "kind": "Issuer", "group": groupVersion.Group},
		"privateKey":     map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
	}
}

func object(kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": groupVersion.String(),
		"kind":       kind,
		"metadata":   map[string]any{"namespace": namespace, "name": name},
		"spec":       spec,
	}}
}
