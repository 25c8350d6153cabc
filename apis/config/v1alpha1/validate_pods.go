// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validatePods(party *RelyingParty, path *field.Path) field.ErrorList {
	pods := party.Pods
	errs := validateSelector(&pods.Selector, path.Child("selector"))
	if len(pods.Selector.MatchLabels)+len(pods.Selector.MatchExpressions) == 0 {
		errs = append(errs, field.Required(path.Child("selector"), "an empty selector chooses every pod of the namespace: name labels of the pods that are meant"))
	}
	if party.ForEachNode != nil || len(party.Members) > 0 {
		errs = append(errs, field.Forbidden(path, "the members are nodes, or they are named, or they are pods: only one of these"))
	}
	return append(errs, validatePodPort(party, path)...)
}

// validatePodPort: pods are probed at their own addresses, so the port is all that there is to say.
func validatePodPort(party *RelyingParty, path *field.Path) field.ErrorList {
	pods, probed := party.Pods, party.Evidence.Kind == EvidenceTLSProbe
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

// ofService says whether a host is the name of a Service by the rules of the cluster's DNS.
func ofService(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".svc.cluster.local")
}
