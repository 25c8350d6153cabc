// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/apis/document"
)

// MaxInputBytes bounds the input.
const MaxInputBytes = 16 << 20

// classKind is the kind of what the owner of the nodes permits.
const classKind = "StaticPodClass"

// Input are the objects to begin with.
type Input struct {
	Namespaces     []*corev1.Namespace
	Configurations []*configv1alpha1.RotationConfiguration
	Classes        []*configv1alpha1.StaticPodClass
	ConfigMaps     []*corev1.ConfigMap
	Secrets        []*corev1.Secret
	Nodes          []*corev1.Node
	// Others are passed on as they are, such as roles.
	Others []*unstructured.Unstructured
}

// Parse reads YAML documents, as kubectl would apply them. What this package works with is read strictly: a field that it
// does not know is an error.
func Parse(data []byte) (*Input, error) {
	in := &Input{}
	if err := in.read(data); err != nil {
		return nil, err
	}
	if err := in.validate(); err != nil {
		return nil, err
	}
	return in, nil
}

// read adds the documents of one file.
func (in *Input) read(data []byte) error {
	documents, err := document.Split(data, MaxInputBytes)
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	for i, one := range documents {
		if err := in.add(one); err != nil {
			return fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	return nil
}

func (in *Input) add(text []byte) error {
	if onlyComments(text) {
		return nil
	}
	head := &struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}{}
	if err := document.Unmarshal(text, MaxInputBytes, head, false); err != nil {
		return fmt.Errorf("read it as YAML: %w", err)
	}
	var err error
	switch {
	case head.APIVersion == "" || head.Kind == "" || head.Metadata.Name == "":
		return errors.New("apiVersion, kind and metadata.name are required")
	case strings.HasSuffix(head.Kind, "List"):
		return fmt.Errorf("%s: write each object as a document of its own", head.Kind)
	case head.APIVersion == configv1alpha1.SchemeGroupVersion.String():
		err = in.addConfiguration(head.Kind, text)
	case head.APIVersion != "v1":
		return in.addOther(text)
	default:
		err = in.addCore(head.Kind, text)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", head.Kind, head.Metadata.Name, err)
	}
	return nil
}

// addConfiguration takes nothing of the group but what people write: what a system remembers begins with the system.
func (in *Input) addConfiguration(kind string, text []byte) (err error) {
	if kind == classKind {
		in.Classes, err = appended(in.Classes, text)
		return err
	}
	if kind != configv1alpha1.Kind {
		return fmt.Errorf("only a %s or a %s can be given", configv1alpha1.Kind, classKind)
	}
	configuration, err := configv1alpha1.Decode(text)
	if err != nil {
		return err
	}
	in.Configurations = append(in.Configurations, configuration)
	return nil
}

func (in *Input) addCore(kind string, text []byte) (err error) {
	switch kind {
	case "Namespace":
		in.Namespaces, err = appended(in.Namespaces, text)
	case "ConfigMap":
		in.ConfigMaps, err = appended(in.ConfigMaps, text)
	case "Secret":
		in.Secrets, err = appended(in.Secrets, text)
	case "Node":
		in.Nodes, err = appended(in.Nodes, text)
	default:
		return in.addOther(text)
	}
	return err
}

func (in *Input) addOther(text []byte) error {
	object := &unstructured.Unstructured{}
	if err := document.Unmarshal(text, MaxInputBytes, &object.Object, true); err != nil {
		return fmt.Errorf("read it as YAML: %w", err)
	}
	in.Others = append(in.Others, object)
	return nil
}

func appended[T any](list []*T, text []byte) ([]*T, error) {
	object := new(T)
	if err := document.Unmarshal(text, MaxInputBytes, object, true); err != nil {
		return nil, err
	}
	if secret, ok := any(object).(*corev1.Secret); ok {
		keepStrings(secret)
	}
	return append(list, object), nil
}

// keepStrings does what a server does with stringData.
func keepStrings(secret *corev1.Secret) {
	if secret.Data == nil && len(secret.StringData) > 0 {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
	if secret.Type == "" {
		secret.Type = corev1.SecretTypeOpaque
	}
}

func onlyComments(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// namespaces are those of configurations, ConfigMaps and Secrets, ordered.
func (in *Input) namespaces() []string {
	var out []string
	for _, object := range in.namespaced() {
		out = append(out, object.GetNamespace())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (in *Input) namespaced() []metav1.Object {
	var out []metav1.Object
	for _, object := range in.Configurations {
		out = append(out, object)
	}
	for _, object := range in.ConfigMaps {
		out = append(out, object)
	}
	for _, object := range in.Secrets {
		out = append(out, object)
	}
	return out
}

// objects that the API begins with.
func (in *Input) objects() []runtime.Object {
	var out []runtime.Object
	for _, object := range in.Namespaces {
		out = append(out, object)
	}
	for _, object := range in.Nodes {
		out = append(out, object)
	}
	for _, object := range in.Classes {
		out = append(out, object)
	}
	for _, object := range in.Configurations {
		out = append(out, object)
	}
	for _, object := range in.ConfigMaps {
		out = append(out, object)
	}
	for _, object := range in.Secrets {
		out = append(out, object)
	}
	return out
}
