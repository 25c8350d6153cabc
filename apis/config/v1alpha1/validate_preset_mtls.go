// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxMTLSClients leaves room for the server among the relying parties of a trust domain.
const maxMTLSClients = 120

func validateMTLSService(params *MTLSServicePreset, path *field.Path) field.ErrorList {
	names := mtlsNames{prefix: cmp.Or(params.Name, defaultServiceName)}
	errs := invalid(path.Child("name"), params.Name, validation.IsDNS1123Label(names.prefix))
	if len(names.server()) > maxCommonName {
		errs = append(errs, field.TooLong(path.Child("name"), params.Name, maxCommonName-len("-server")))
	}
	errs = append(errs, validateMTLSClients(params, names, path)...)
	errs = append(errs, validateEach(params.DNSNames, path.Child("dnsNames"), validateDNSName)...)
	errs = append(errs, validateEach(params.IPAddresses, path.Child("ipAddresses"), validateIP)...)
	errs = append(errs, validateMTLSServer(params, path)...)
	errs = append(errs, validateServerName(params.ServerName, path.Child("serverName"))...)
	if params.ServerName == "" && len(params.DNSNames) > 0 && firstExact(params.DNSNames) == "" {
		errs = append(errs, field.Required(path.Child("serverName"), "all of dnsNames are wildcards: say for which name the server's leaf is verified"))
	}
	return errs
}

func validateMTLSServer(params *MTLSServicePreset, path *field.Path) field.ErrorList {
	if params.ServerPods != nil {
		return validatePods(&RelyingParty{Pods: params.ServerPods.members()}, path.Child("serverPods"))
	}
	return validateEach(params.ServerAddresses, path.Child("serverAddresses"), func(address string, path *field.Path) field.ErrorList {
		return validateAddress(address, false, path)
	})
}

func validateMTLSClients(params *MTLSServicePreset, names mtlsNames, path *field.Path) field.ErrorList {
	clients, clientPods := path.Child("clients"), path.Child("clientPods")
	if named := len(params.Clients) + len(params.ClientPods); named > maxMTLSClients {
		return field.ErrorList{field.TooMany(clients, named, maxMTLSClients)}
	}
	errs := validateEach(params.Clients, clients, names.validateClient)
	for i := range params.ClientPods {
		client, at := &params.ClientPods[i], clientPods.Index(i)
		if slices.Contains(params.Clients, client.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), client.Name))
		} else {
			errs = append(errs, names.validateClient(client.Name, at.Child("name"))...)
		}
		errs = append(errs, validateSelector(&client.Selector, at.Child("selector"))...)
		if client.ServiceAccountName != "" {
			errs = append(errs, validateName(client.ServiceAccountName, at.Child("serviceAccountName"))...)
		}
	}
	return errs
}

func (n mtlsNames) validateClient(client string, path *field.Path) field.ErrorList {
	errs := invalid(path, client, validation.IsDNS1123Label(client))
	if excess := len(n.client(client)) - maxCommonName; excess > 0 {
		errs = append(errs, field.Invalid(path, client, fmt.Sprintf(
			"the common name %s has %d characters more than the limit of %d", n.client(client), excess, maxCommonName)))
	}
	return errs
}
