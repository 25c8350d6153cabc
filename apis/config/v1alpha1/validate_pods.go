// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validatePods(party *RelyingParty, path *field.Path) field.ErrorList {
	pods := party.Pods
	errs := validateSelector(&pods.Selector, path.Child("selector"))
	if mounting := pods.Mounting; mounting != nil && !slices.Contains(party.Presents, mounting.SecretName) {
		errs = append(errs, field.Invalid(path.Child("mounting", "secretName"), mounting.SecretName,
			"is no leaf that the party presents: name one of presents, as it is written there, or choose the pods by labels"))
	}
	if pods.PortName != "" {
		errs = append(errs, invalid(path.Child("portName"), pods.PortName, validation.IsValidPortName(pods.PortName))...)
	}
	if typeOf(party.Evidence.Kind).probed && len(party.Presents) > 1 {
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
