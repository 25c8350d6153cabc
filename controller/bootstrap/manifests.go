// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// Order of the manifests: a namespace before what is in it, and a configuration, with which a controller begins to work,
// after everything that it would otherwise make itself.
const (
	orderNamespace     = "00"
	orderObject        = "10"
	orderConfiguration = "90"
)

// manifests returns every object as YAML by file name. The order of the names is the one to create them in. Nodes are not
// among them: kubelets register themselves. Nor are records of who counts: a node has its UID only then, so a controller
// writes them when it sees the nodes.
func manifests(in *Input, api *API) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, namespace := range in.Namespaces {
		if err := addManifest(out, orderNamespace, namespace.DeepCopy(), "v1", "Namespace"); err != nil {
			return nil, err
		}
	}
	for _, class := range in.Classes {
		if err := addManifest(out, orderNamespace, class.DeepCopy(), configv1alpha1.SchemeGroupVersion.String(), classKind); err != nil {
			return nil, err
		}
	}
	for _, other := range in.Others {
		if err := addOther(out, other.DeepCopy()); err != nil {
			return nil, err
		}
	}
	for _, namespace := range in.namespaces() {
		if err := addNamespace(out, api, namespace); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func addNamespace(out map[string][]byte, api *API, namespace string) error {
	secrets, configMaps, noObjects := api.Objects(namespace)
	configurations, noConfigurations := api.Configurations(namespace)
	errs := []error{noObjects, noConfigurations}
	for _, secret := range secrets {
		errs = append(errs, addManifest(out, orderObject, secret, "v1", "Secret"))
	}
	for _, configMap := range configMaps {
		errs = append(errs, addManifest(out, orderObject, configMap, "v1", "ConfigMap"))
	}
	for _, configuration := range configurations {
		errs = append(errs, addManifest(out, orderConfiguration, configuration, configv1alpha1.SchemeGroupVersion.String(), configv1alpha1.Kind))
	}
	return errors.Join(errs...)
}

// addManifest takes off what only a server may set.
func addManifest(out map[string][]byte, order string, object metav1.Object, apiVersion, kind string) error {
	object.SetResourceVersion("")
	object.SetUID("")
	object.SetCreationTimestamp(metav1.Time{})
	object.SetManagedFields(nil)
	object.SetGeneration(0)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", kind, object.GetName(), err)
	}
	fields["apiVersion"], fields["kind"] = apiVersion, kind
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(fields, "status")
	if spec, ok := fields["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(fields, "spec")
	}
	return put(out, fileName(order, kind, object), fields)
}

func addOther(out map[string][]byte, object *unstructured.Unstructured) error {
	return put(out, fileName(orderObject, object.GetKind(), object), object.Object)
}

func put(out map[string][]byte, name string, fields map[string]any) error {
	data, err := yaml.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if _, taken := out[name]; taken {
		return fmt.Errorf("%s is there twice", name)
	}
	out[name] = data
	return nil
}

// fileName keeps letters, digits, dots and dashes of a name; other kinds than Secrets may have colons in it.
func fileName(order, kind string, object metav1.Object) string {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, cmp.Or(object.GetNamespace(), "cluster")+"-"+object.GetName())
	return order + "-" + strings.ToLower(kind) + "-" + plain + ".yaml"
}
