// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/apis/document"
	"certrotation.dev/registry/trust"
)

// MaxInputBytes bounds the input.
const MaxInputBytes = 16 << 20

// classKind is the kind of the permissions that the owner of the nodes grants.
const classKind = "StaticPodClass"

// Input are the objects to start with.
type Input struct {
	// known are the objects that this package works with.
	known []object
	// others are passed on unchanged, such as roles.
	others []*unstructured.Unstructured
}

// Parse reads YAML documents, as kubectl applies them. It reads the kinds that this package works with strictly: an
// unknown field is an error.
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
	case head.APIVersion == "v1" && head.Kind == "Namespace":
		err = in.addKnown(text, &corev1.Namespace{})
	case head.APIVersion == "v1" && head.Kind == "ConfigMap":
		err = in.addKnown(text, &corev1.ConfigMap{})
	case head.APIVersion == "v1" && head.Kind == "Secret":
		secret := &corev1.Secret{}
		err = in.addKnown(text, secret)
		keepStrings(secret)
	case head.APIVersion == "v1" && head.Kind == "Node":
		err = in.addKnown(text, &corev1.Node{})
	default:
		return in.addOther(text)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", head.Kind, head.Metadata.Name, err)
	}
	return nil
}

// addConfiguration accepts only the kinds of the group that people write. Records begin with the cluster.
func (in *Input) addConfiguration(kind string, text []byte) error {
	switch kind {
	case classKind:
		return in.addKnown(text, &configv1alpha1.StaticPodClass{})
	case configv1alpha1.Kind:
		configuration, err := load.Decode(text)
		if err != nil {
			return err
		}
		in.known = append(in.known, configuration)
		return nil
	}
	return fmt.Errorf("only a %s or a %s can be given", configv1alpha1.Kind, classKind)
}

func (in *Input) addKnown(text []byte, o object) error {
	if err := document.Unmarshal(text, MaxInputBytes, o, true); err != nil {
		return err
	}
	in.known = append(in.known, o)
	return nil
}

func (in *Input) addOther(text []byte) error {
	other := &unstructured.Unstructured{}
	if err := document.Unmarshal(text, MaxInputBytes, &other.Object, true); err != nil {
		return fmt.Errorf("read it as YAML: %w", err)
	}
	in.others = append(in.others, other)
	return nil
}

// keepStrings merges stringData into data, as an API server does.
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

// of returns the objects of one type in the order of the input.
func of[T object](in *Input) []T {
	var out []T
	for _, known := range in.known {
		if o, ok := known.(T); ok {
			out = append(out, o)
		}
	}
	return out
}

func (in *Input) namespaced() []object {
	return slices.DeleteFunc(slices.Clone(in.known), func(o object) bool {
		switch o.(type) {
		case *configv1alpha1.RotationConfiguration, *corev1.ConfigMap, *corev1.Secret:
			return false
		}
		return true
	})
}

// namespaces are the namespaces of namespaced objects, sorted.
func (in *Input) namespaces() []string {
	var out []string
	for _, o := range in.namespaced() {
		out = append(out, o.GetNamespace())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// documentation returns the networks that are reserved for documentation.
func documentation() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20"),
	}
}

// validate returns every problem of the input as a whole.
func (in *Input) validate() error {
	var errs []error
	nodes := of[*corev1.Node](in)
	if len(nodes) == 0 {
		errs = append(errs, errors.New("there is no Node: add the first nodes, with their InternalIP in status.addresses"))
	}
	seen := map[string]bool{}
	for _, o := range in.known {
		name := kindOf(o) + " " + strings.TrimPrefix(nameOf(o).String(), "/")
		if seen[name] {
			errs = append(errs, fmt.Errorf("%s is there twice", name))
		}
		seen[name] = true
		if problems := validation.IsDNS1123Subdomain(o.GetName()); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("%s: metadata.name: %s", name, problems[0]))
		}
	}
	for _, node := range nodes {
		errs = append(errs, checkAddresses(node)...)
	}
	for _, object := range in.namespaced() {
		if problems := validation.IsDNS1123Label(object.GetNamespace()); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("%s: metadata.namespace is %q: %s", object.GetName(), object.GetNamespace(), problems[0]))
		}
	}
	return errors.Join(append(errs, in.checkConsent()...)...)
}

// checkConsent refuses a Namespace that has a configuration and is not managed: certrotation would do nothing there
// once the cluster runs. A Namespace outside of the input already exists, or --namespaces names it.
func (in *Input) checkConsent() []error {
	var errs []error
	for _, namespace := range of[*corev1.Namespace](in) {
		configured := slices.ContainsFunc(of[*configv1alpha1.RotationConfiguration](in), func(c *configv1alpha1.RotationConfiguration) bool {
			return c.Namespace == namespace.Name
		})
		if configured && namespace.Labels[trust.LabelManaged] != trust.ManagedValue {
			errs = append(errs, fmt.Errorf("Namespace %s has a configuration, but certrotation does nothing in it without the label %s=%s: add it",
				namespace.Name, trust.LabelManaged, trust.ManagedValue))
		}
	}
	return errs
}

// checkAddresses refuses nodes whose addresses other nodes cannot reach: their certificates would be useless.
func checkAddresses(node *corev1.Node) []error {
	var errs []error
	count := 0
	for _, address := range node.Status.Addresses {
		if address.Type != corev1.NodeInternalIP {
			continue
		}
		count++
		if err := checkAddress(address.Address); err != nil {
			errs = append(errs, fmt.Errorf("Node %s: InternalIP %q: %w", node.Name, address.Address, err))
		}
	}
	if count == 0 {
		errs = append(errs, fmt.Errorf("Node %s has no InternalIP in status.addresses", node.Name))
	}
	return errs
}

func checkAddress(text string) error {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil || address.Zone() != "":
		return errors.New("it is not an IP address without a zone")
	case address.IsUnspecified() || address.IsLoopback() || address.IsMulticast() || address.IsLinkLocalUnicast():
		return errors.New("no other node reaches it")
	}
	for _, network := range documentation() {
		if network.Contains(address.Unmap()) {
			return fmt.Errorf("it is of the network %s, which is for documentation: write the address that the node has", network)
		}
	}
	return nil
}
