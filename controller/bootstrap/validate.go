// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// documentation are the networks that stand in examples and that nobody has.
func documentation() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20"),
	}
}

// validate returns everything that is wrong with the input as a whole.
func (in *Input) validate() error {
	var errs []error
	if len(in.Nodes) == 0 {
		errs = append(errs, errors.New("there is no Node: add the first nodes, with their InternalIP in status.addresses"))
	}
	seen := map[string]bool{}
	check := func(kind string, object metav1.Object) {
		name := kind + " " + strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
		if seen[name] {
			errs = append(errs, fmt.Errorf("%s is there twice", name))
		}
		seen[name] = true
		if problems := validation.IsDNS1123Subdomain(object.GetName()); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("%s: metadata.name: %s", name, problems[0]))
		}
	}
	for _, node := range in.Nodes {
		check("Node", node)
		errs = append(errs, checkAddresses(node)...)
	}
	for _, namespace := range in.Namespaces {
		check("Namespace", namespace)
	}
	for _, object := range in.Configurations {
		check(configv1alpha1.Kind, object)
	}
	for _, object := range in.ConfigMaps {
		check("ConfigMap", object)
	}
	for _, object := range in.Secrets {
		check("Secret", object)
	}
	for _, object := range in.namespaced() {
		if problems := validation.IsDNS1123Label(object.GetNamespace()); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("%s: metadata.namespace is %q: %s", object.GetName(), object.GetNamespace(), problems[0]))
		}
	}
	return errors.Join(append(errs, in.checkConsent()...)...)
}

// checkConsent refuses a Namespace that has a configuration and is not managed: nothing would go on there once the cluster
// runs. One that is not among the objects exists already, or is named to certrotation by --namespaces.
func (in *Input) checkConsent() []error {
	var errs []error
	for _, namespace := range in.Namespaces {
		configured := slices.ContainsFunc(in.Configurations, func(c *configv1alpha1.RotationConfiguration) bool {
			return c.Namespace == namespace.Name
		})
		if configured && namespace.Labels[trust.LabelManaged] != trust.ManagedValue {
			errs = append(errs, fmt.Errorf("Namespace %s has a configuration, but certrotation does nothing in it without the label %s=%s: add it",
				namespace.Name, trust.LabelManaged, trust.ManagedValue))
		}
	}
	return errs
}

// checkAddresses refuses nodes that cannot be reached where they say they are: their certificates would be useless.
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
		return errors.New("it is not an IP address")
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
