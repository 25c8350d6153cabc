// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLookups asks with Go's resolver, which etcd uses too.
func TestLookups(t *testing.T) {
	endpoint := func(address, host string, ready bool) discoveryv1.Endpoint {
		out := discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(ready)}}
		if host != "" {
			out.Hostname = new(host)
		}
		return out
	}
	list := []*discoveryv1.EndpointSlice{{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd-1", Namespace: "a", Labels: map[string]string{discoveryv1.LabelServiceName: "etcd"}},
		Endpoints: []discoveryv1.Endpoint{
			endpoint("10.200.11.2", "etcd-0", true), endpoint("10.200.12.3", "etcd-1", true), endpoint("10.200.13.4", "etcd-2", false),
		},
	}, {
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "a", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		Endpoints:  []discoveryv1.Endpoint{endpoint("10.200.11.9", "", true)},
	}}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- serve(conn, func() []*discoveryv1.EndpointSlice { return list }) }()
	t.Cleanup(func() {
		conn.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	for _, test := range []struct {
		name, ask string
		lookup    func(context.Context, string) ([]string, error)
		want      []string
	}{
		{"a Service", "etcd.a.svc.cluster.local.", resolver.LookupHost, []string{"10.200.11.2", "10.200.12.3"}},
		{"a pod", "etcd-1.etcd.a.svc.cluster.local.", resolver.LookupHost, []string{"10.200.12.3"}},
		{"in capitals", "ETCD-1.etcd.a.svc.cluster.local.", resolver.LookupHost, []string{"10.200.12.3"}},
		{"a pod that is not ready", "etcd-2.etcd.a.svc.cluster.local.", resolver.LookupHost, nil},
		{"another namespace", "etcd.b.svc.cluster.local.", resolver.LookupHost, nil},
		{"who is a pod", "10.200.12.3", resolver.LookupAddr, []string{"etcd-1.etcd.a.svc.cluster.local."}},
		{"who is a pod without a host name", "10.200.11.9", resolver.LookupAddr, []string{"web.a.svc.cluster.local."}},
		{"who is nobody", "10.200.13.4", resolver.LookupAddr, nil},
	} {
		got, err := test.lookup(t.Context(), test.ask)
		if (err != nil) != (test.want == nil) {
			t.Errorf("%s: %v", test.name, err)
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestNoQuestions(t *testing.T) {
	for name, message := range map[string][]byte{"nothing": nil, "too short": {1, 2, 3}, "no question": make([]byte, 12)} {
		if reply, err := answer(message, zone(nil)); err == nil {
			t.Errorf("%s: answered with %x", name, reply)
		}
	}
}
