// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"slices"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
)

// endpoints are the pods of a Service that are ready now. A client that asks the Service's own address, or a name service, would
// not know which of them it reaches.
type endpoints struct {
	slices discoverylisters.EndpointSliceNamespaceLister
}

// follow watches the EndpointSlices of a Service until the context ends.
func (o *options) follow(ctx context.Context, service string) (*endpoints, error) {
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(o.member.Namespace),
		informers.WithTweakListOptions(func(list *metav1.ListOptions) {
			list.LabelSelector = labels.Set{discoveryv1.LabelServiceName: service}.String()
		}))
	lister := factory.Discovery().V1().EndpointSlices().Lister().EndpointSlices(o.member.Namespace)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return &endpoints{slices: lister}, nil
}

// addresses of the pods, host:port, in an order that stays.
func (e *endpoints) addresses() []string {
	list, err := e.slices.List(labels.Everything())
	if err != nil {
		return nil // A list from memory does not fail.
	}
	var out []string
	for _, slice := range list {
		for i := range slice.Endpoints {
			endpoint := &slice.Endpoints[i]
			if ready := endpoint.Conditions.Ready; ready != nil && !*ready {
				continue
			}
			for _, port := range slice.Ports {
				if port.Port != nil && len(endpoint.Addresses) > 0 {
					out = append(out, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*port.Port))))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
