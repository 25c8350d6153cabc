// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// place is where a member runs: a node, or a pod.
type place struct {
	name string
	uid  types.UID
	// address is where to ask the member. If it is empty, nowhere says why.
	address, nowhere string
	// known are the addresses under which the member list may have it.
	known []string
}

func onNodes(nodes []*inventory.Node) []place {
	var out []place
	for _, node := range nodes {
		p := place{name: node.Name, uid: node.UID, nowhere: "its node has no InternalIP", known: node.Addresses}
		if len(node.Addresses) > 0 {
			p.address = node.Addresses[0]
		}
		out = append(out, p)
	}
	return out
}

// ofPods uses each pod's IP and no DNS name, because the controller does not trust name resolution.
func ofPods(pods []*corev1.Pod) []place {
	var out []place
	for _, pod := range pods {
		p := place{name: pod.Name, uid: pod.UID, nowhere: "its pod has no address", address: pod.Status.PodIP}
		for _, ip := range pod.Status.PodIPs {
			p.known = append(p.known, ip.IP)
		}
		if pod.Spec.Subdomain != "" {
			name := pod.Spec.Hostname + "." + pod.Spec.Subdomain
			p.known = append(p.known, name, name+"."+pod.Namespace, name+"."+pod.Namespace+".svc", name+"."+pod.Namespace+".svc.cluster.local")
		}
		out = append(out, p)
	}
	return out
}

// endpoint fills the address into a template such as https://{node}:2379. It returns nil if the result is no URL.
func (p *place) endpoint(template string) *url.URL {
	if p.address == "" {
		return nil
	}
	host := p.address
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u, err := url.Parse(strings.NewReplacer(configv1alpha1.NodePlaceholder, host, configv1alpha1.PodPlaceholder, host).Replace(template))
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return u
}
