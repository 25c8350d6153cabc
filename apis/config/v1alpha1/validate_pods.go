// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validatePods(party *RelyingParty, path *field.Path) field.ErrorList {
	errs := validateChoice(party, path)
	if party.ForEachNode != nil || len(party.Members) > 0 {
		errs = append(errs, field.Forbidden(path, "the members are nodes, or they are named, or they are pods: only one of these"))
	}
	return append(errs, validatePodPort(party, path)...)
}

// seenOnPods requires pods: the evidence of the party is in their specs.
func seenOnPods(party *RelyingParty, kind *field.Path) field.ErrorList {
	if party.Pods != nil {
		return nil
	}
	return field.ErrorList{field.Invalid(kind, party.Evidence.Kind, "is seen on pods: the party needs pods")}
}

// validateChoice requires that the pods are selected by labels, or by a leaf that they mount.
func validateChoice(party *RelyingParty, path *field.Path) field.ErrorList {
	pods := party.Pods
	if pods.Mounting == nil {
		return validatePodSelector(&pods.Selector, path.Child("selector"))
	}
	if chooses(&pods.Selector) {
		return field.ErrorList{field.Forbidden(path.Child("mounting"), "the pods are chosen by selector, or by what they mount: only one of these")}
	}
	if name := pods.Mounting.SecretName; !slices.Contains(party.Presents, name) {
		return field.ErrorList{field.Invalid(path.Child("mounting", "secretName"), name,
			"is no leaf that the party presents: name one of presents, as it is written there, or choose the pods by labels")}
	}
	return nil
}

// chooses reports whether a selector has any requirement.
func chooses(selector *metav1.LabelSelector) bool {
	return len(selector.MatchLabels)+len(selector.MatchExpressions) > 0
}

// validatePodSelector refuses a selector that matches every pod.
func validatePodSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	errs := validateSelector(selector, path)
	if !chooses(selector) {
		errs = append(errs, field.Required(path, "an empty selector chooses every pod of the namespace: name labels of the pods that are meant"))
	}
	return errs
}

// validatePodPort requires a port if the pods are probed, and only then. Their addresses need no configuration.
func validatePodPort(party *RelyingParty, path *field.Path) field.ErrorList {
	pods, probed := party.Pods, typeOf(party.Evidence.Kind).probed
	var errs field.ErrorList
	switch {
	case pods.ContainerPort != 0 && pods.PortName != "":
		errs = append(errs, field.Forbidden(path.Child("portName"), "excludes containerPort"))
	case probed && pods.ContainerPort == 0 && pods.PortName == "":
		errs = append(errs, field.Required(path.Child("containerPort"), "the kind tlsProbe needs the port at which each pod is probed: containerPort, or portName"))
	case !probed && (pods.ContainerPort != 0 || pods.PortName != "" || pods.ServerName != ""):
		errs = append(errs, field.Forbidden(path, "containerPort, portName and serverName are for the kind tlsProbe"))
	}
	if pods.ContainerPort != 0 {
		for _, message := range validation.IsValidPortNum(int(pods.ContainerPort)) {
			errs = append(errs, field.Invalid(path.Child("containerPort"), pods.ContainerPort, message))
		}
	}
	if pods.PortName != "" {
		for _, message := range validation.IsValidPortName(pods.PortName) {
			errs = append(errs, field.Invalid(path.Child("portName"), pods.PortName, message))
		}
	}
	if probed && len(party.Presents) > 1 {
		errs = append(errs, field.Invalid(path, party.Presents, "a pod presents one leaf at its port: declare a relying party for each port"))
	}
	return append(errs, validateServerName(pods.ServerName, path.Child("serverName"))...)
}

// ofService reports whether a host is the DNS name of a Service.
func ofService(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".svc.cluster.local")
}

// speaksForOthers explains why a process must not be probed at the address of a Service.
const speaksForOthers = ", which leads each connection to another of its pods: one that has loaded a CA would speak for those that " +
	"have not; choose its pods instead with pods: {selector: ..., containerPort: ...}"

// serviceAddresses refuses endpoints with an address in serviceCIDRs. Invalid ranges are refused elsewhere.
func (v *validator) serviceAddresses(spec *RotationConfigurationSpec) {
	refuse := func(at *field.Path, address string) {
		if withinRanges(address, spec.ServiceCIDRs) {
			v.add(field.Invalid(at, address, "is the address of a Service, by serviceCIDRs"+speaksForOthers))
		}
	}
	if preset := spec.Preset; preset != nil && preset.MTLSService != nil {
		for i, address := range preset.MTLSService.ServerAddresses {
			refuse(specPath.Child("preset", "mtlsService", "serverAddresses").Index(i), address)
		}
	}
	for i := range spec.TrustDomains {
		for j := range spec.TrustDomains[i].RelyingParties {
			probe := spec.TrustDomains[i].RelyingParties[j].Evidence.TLSProbe
			if probe == nil {
				continue
			}
			at := specPath.Child("trustDomains").Index(i).Child("relyingParties").Index(j).Child("evidence", "tlsProbe", "endpoints")
			for k := range probe.Endpoints {
				refuse(at.Index(k).Child("address"), probe.Endpoints[k].Address)
			}
		}
	}
}

func withinRanges(address string, ranges []string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	for _, text := range ranges {
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}
