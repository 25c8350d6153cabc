// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateEach validates each value of a list.
func validateEach(values []string, path *field.Path, each func(string, *field.Path) field.ErrorList) field.ErrorList {
	var errs field.ErrorList
	for i, value := range values {
		errs = append(errs, each(value, path.Index(i))...)
	}
	return errs
}

// validateName accepts the names of objects: DNS subdomains.
func validateName(name string, path *field.Path) field.ErrorList {
	return invalid(path, name, validation.IsDNS1123Subdomain(name))
}

func validateDNSName(name string, path *field.Path) field.ErrorList {
	if strings.HasPrefix(name, "*.") {
		return invalid(path, name, validation.IsWildcardDNS1123Subdomain(name))
	}
	if net.ParseIP(name) != nil {
		return field.ErrorList{field.Invalid(path, name, "is an address, not a name")}
	}
	return invalid(path, name, validation.IsDNS1123Subdomain(name))
}

func validateIP(address string, path *field.Path) field.ErrorList {
	return validation.IsValidIP(path, address)
}

// validateServerName accepts a name or an address for which a certificate can be verified, or none.
func validateServerName(name string, path *field.Path) field.ErrorList {
	if name == "" || net.ParseIP(name) != nil {
		return nil
	}
	return invalid(path, name, validation.IsDNS1123Subdomain(name))
}

func validateHostPort(address string, path *field.Path) field.ErrorList {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return field.ErrorList{field.Invalid(path, address, "must be host:port, an IPv6 address in brackets")}
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return field.ErrorList{field.Invalid(path, address, "the port must be a number")}
	}
	errs := invalid(path, address, validation.IsValidPortNum(port))
	if net.ParseIP(host) != nil {
		return errs
	}
	return append(errs, invalid(path, address, validation.IsDNS1123Subdomain(host))...)
}

func invalid(path *field.Path, value string, msgs []string) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range msgs {
		errs = append(errs, field.Invalid(path, value, msg))
	}
	return errs
}

// validateNodeName requires the placeholder for the node exactly once if the object exists once for each node, and
// refuses it otherwise. It validates the rest with a typical node name.
func validateNodeName(name string, forEachNode bool, path *field.Path, each func(string, *field.Path) field.ErrorList) field.ErrorList {
	switch count := strings.Count(name, NodePlaceholder); {
	case forEachNode && count != 1:
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf("must contain %s exactly once, since there is one for each node", NodePlaceholder))}
	case !forEachNode && count != 0:
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf("may contain %s only with forEachNode", NodePlaceholder))}
	}
	var errs field.ErrorList
	for _, err := range each(strings.Replace(name, NodePlaceholder, "node", 1), path) {
		err.BadValue = name
		errs = append(errs, err)
	}
	return errs
}

// ranges requires CIDRs without host bits, which would hide how large the range is.
func (v *validator) ranges(texts []string, path *field.Path) {
	for i, text := range texts {
		r, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			v.add(field.Invalid(path.Index(i), text, "want a CIDR such as 10.0.0.0/24"))
		case r.Masked() != r:
			v.add(field.Invalid(path.Index(i), text, "host bits are set: want "+r.Masked().String()))
		}
	}
}
