// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// Order of the manifests: a namespace precedes its objects. A configuration, which starts the work of a controller,
// follows everything that the controller would otherwise make itself.
const (
	orderNamespace     = "00"
	orderObject        = "10"
	orderConfiguration = "90"
)

// manifests returns every object as YAML by file name, to be created in the order of the names. It omits nodes,
// because kubelets register themselves. It also omits records: they need the UIDs of the nodes, so the controller
// writes them when it observes the nodes.
func manifests(in *Input, api *API) (map[string][]byte, error) {
	out := map[string][]byte{}
	var errs []error
	for _, namespace := range of[*corev1.Namespace](in) {
		errs = append(errs, addManifest(out, orderNamespace, copied(namespace)))
	}
	for _, class := range of[*configv1alpha1.StaticPodClass](in) {
		errs = append(errs, addManifest(out, orderNamespace, copied(class)))
	}
	for _, other := range in.others {
		errs = append(errs, put(out, fileName(orderObject, other.GetKind(), other), other.Object))
	}
	for _, namespace := range in.namespaces() {
		for _, secret := range list[*corev1.Secret](api, namespace) {
			errs = append(errs, addManifest(out, orderObject, secret))
		}
		for _, configMap := range list[*corev1.ConfigMap](api, namespace) {
			errs = append(errs, addManifest(out, orderObject, configMap))
		}
		for _, configuration := range list[*configv1alpha1.RotationConfiguration](api, namespace) {
			errs = append(errs, addManifest(out, orderConfiguration, configuration))
		}
	}
	return out, errors.Join(errs...)
}

// addManifest removes the fields that only a server may set.
func addManifest(out map[string][]byte, order string, object object) error {
	kind := kindOf(object)
	object.SetResourceVersion("")
	object.SetUID("")
	object.SetCreationTimestamp(metav1.Time{})
	object.SetManagedFields(nil)
	object.SetGeneration(0)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", kind, object.GetName(), err)
	}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(fields, "status")
	if spec, ok := fields["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(fields, "spec")
	}
	return put(out, fileName(order, kind, object), fields)
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

// fileName replaces all but letters, digits, dots and dashes: names of other kinds, unlike those of Secrets, may
// contain colons.
func fileName(order, kind string, object metav1.Object) string {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, cmp.Or(object.GetNamespace(), "cluster")+"-"+object.GetName())
	return order + "-" + strings.ToLower(kind) + "-" + plain + ".yaml"
}
