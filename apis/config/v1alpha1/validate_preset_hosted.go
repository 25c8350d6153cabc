// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxAnnotationName bounds the names of the objects that an annotation of a template can name.
	maxAnnotationName = 63
	// maxLeafNames is the MaxItems of dnsNames and ipAddresses of a leaf.
	maxLeafNames = 64
)

// validateHostedEtcd reports each error at the parameter that is wrong. Defaults are validated too.
func validateHostedEtcd(params *HostedEtcdPreset, namespace string, path *field.Path) field.ErrorList {
	h := newHostedEtcd(params, namespace)
	if params == nil {
		params = &HostedEtcdPreset{}
	}
	name := path.Child("name")
	errs := invalid(name, params.Name, validation.IsDNS1123Label(h.params.Name))
	if excess := len(h.peerBundle()) - maxAnnotationName; excess > 0 {
		errs = append(errs, field.TooLong(name, params.Name, len(h.params.Name)-excess))
	}
	errs = append(errs, invalid(path.Child("statefulSet"), h.params.StatefulSet, validation.IsDNS1123Label(h.params.StatefulSet))...)
	errs = append(errs, validateName(h.params.Deployment, path.Child("deployment"))...)
	if h.params.ClientPort == h.params.PeerPort {
		errs = append(errs, field.Invalid(path.Child("peerPort"), h.params.PeerPort, "is clientPort: etcd listens at two ports, with a CA each"))
	}
	errs = append(errs, h.validateNames(params, path)...)
	errs = append(errs, h.validatePods(path)...)
	return append(errs, h.validateClients(path.Child("clients"))...)
}

// validateNames validates the names and addresses of the leaves of the members.
func (h *hostedEtcd) validateNames(params *HostedEtcdPreset, path *field.Path) field.ErrorList {
	dnsNames, addresses := path.Child("dnsNames"), path.Child("ipAddresses")
	errs := validateEach(params.Services, path.Child("services"), validateLabelName)
	if len(h.names) > maxLeafNames {
		errs = append(errs, field.TooMany(dnsNames, len(h.names), maxLeafNames))
	}
	own := sets.New(h.names[:len(h.names)-len(params.DNSNames)]...)
	errs = append(errs, validateEach(params.DNSNames, dnsNames, func(name string, path *field.Path) field.ErrorList {
		if own.Has(name) {
			return field.ErrorList{field.Invalid(path, name, "is there already, by services or as localhost")}
		}
		return validateDNSName(name, path)
	})...)
	return append(errs, validateEach(params.IPAddresses, addresses, func(address string, path *field.Path) field.ErrorList {
		if address == "127.0.0.1" || address == "::1" {
			return field.ErrorList{field.Invalid(path, address, "is there already")}
		}
		return validateIP(address, path)
	})...)
}

// validatePods requires different pods for etcd and kube-apiserver: each has its own Secret and rollout.
func (h *hostedEtcd) validatePods(path *field.Path) field.ErrorList {
	members, apiServer := path.Child("memberSelector"), path.Child("apiServerSelector")
	errs := validateSelector(h.params.MemberSelector, members)
	errs = append(errs, validateSelector(h.params.APIServerSelector, apiServer)...)
	if len(errs) == 0 && sameSelector(h.params.MemberSelector, h.params.APIServerSelector) {
		errs = append(errs, field.Invalid(apiServer, metav1.FormatLabelSelector(h.params.APIServerSelector), "chooses the pods of etcd"))
	}
	return errs
}

func (h *hostedEtcd) validateClients(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range h.params.Clients {
		client, at := &h.params.Clients[i], path.Index(i)
		errs = append(errs, validateLabelName(client.Name, at.Child("name"))...)
		if excess := len(h.client(client.Name)) - maxAnnotationName; excess > 0 {
			errs = append(errs, field.Invalid(at.Child("name"), client.Name, fmt.Sprintf(
				"the name %s has %d characters more than the limit of %d", h.client(client.Name), excess, maxAnnotationName)))
		}
		errs = append(errs, h.validateClientPods(client, at)...)
	}
	return errs
}

// validateClientPods validates the pods of a client. A client without a selector is a sidecar of etcd.
func (h *hostedEtcd) validateClientPods(client *HostedEtcdClient, path *field.Path) field.ErrorList {
	if client.Selector == nil {
		return nil
	}
	selector := path.Child("selector")
	errs := validateSelector(client.Selector, selector)
	if len(errs) == 0 && sameSelector(client.Selector, h.params.MemberSelector) {
		errs = append(errs, field.Invalid(selector, metav1.FormatLabelSelector(client.Selector), "chooses the pods of etcd: a sidecar of etcd has no selector"))
	}
	if client.Workload != nil {
		errs = append(errs, h.validateClientWorkload(client.Workload, path.Child("workload"))...)
	}
	if client.ServiceAccountName != "" {
		errs = append(errs, validateName(client.ServiceAccountName, path.Child("serviceAccountName"))...)
	}
	return errs
}

func (h *hostedEtcd) validateClientWorkload(workload *Workload, path *field.Path) field.ErrorList {
	errs := validateName(workload.Name, path.Child("name"))
	switch *workload {
	case Workload{Kind: StatefulSet, Name: h.params.StatefulSet}:
		errs = append(errs, field.Invalid(path, workload.Name, "is the StatefulSet of etcd: a sidecar of etcd has neither selector nor workload"))
	case Workload{Kind: Deployment, Name: h.params.Deployment}:
		errs = append(errs, field.Invalid(path, workload.Name, "is the Deployment of kube-apiserver, which is a client already"))
	}
	return errs
}

// sameSelector expects valid selectors.
func sameSelector(x, y *metav1.LabelSelector) bool {
	return metav1.FormatLabelSelector(x) == metav1.FormatLabelSelector(y)
}
