// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// domain is the suffix of the cluster's names.
const domain = "svc.cluster.local."

// seconds is the TTL of an answer, short because pods come and go.
const seconds = 1

// names maps names to addresses, and reverse names to names.
type names struct {
	addresses map[string][]netip.Addr
	reverse   map[string][]string
}

// zone returns the names in EndpointSlices.
func zone(slices []*discoveryv1.EndpointSlice) names {
	z := names{addresses: map[string][]netip.Addr{}, reverse: map[string][]string{}}
	for _, slice := range slices {
		service := slice.Labels[discoveryv1.LabelServiceName]
		if service == "" {
			continue
		}
		for i := range slice.Endpoints {
			endpoint := &slice.Endpoints[i]
			address, err := netip.ParseAddr(endpoint.Addresses[0])
			if err != nil || !address.Is4() || endpoint.Conditions.Ready != nil && !*endpoint.Conditions.Ready {
				continue
			}
			name := service + "." + slice.Namespace + "." + domain
			z.addresses[name] = append(z.addresses[name], address)
			if endpoint.Hostname != nil {
				name = *endpoint.Hostname + "." + name
				z.addresses[name] = append(z.addresses[name], address)
			}
			z.reverse[reversed(address)] = append(z.reverse[reversed(address)], name)
		}
	}
	return z
}

// reversed returns the reverse name of an address.
func reversed(address netip.Addr) string {
	b := address.As4()
	return fmt.Sprintf("%d.%d.%d.%d.in-addr.arpa.", b[3], b[2], b[1], b[0])
}

func answer(message []byte, z names) ([]byte, error) {
	var asked dnsmessage.Message
	if err := asked.Unpack(message); err != nil {
		return nil, fmt.Errorf("parse the question: %w", err)
	}
	if asked.Response || len(asked.Questions) != 1 {
		return nil, errors.New("it is not one question")
	}
	question := asked.Questions[0]
	name := strings.ToLower(question.Name.String())
	out := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID: asked.ID, Response: true, Authoritative: true, RecursionDesired: asked.RecursionDesired, RecursionAvailable: true,
		},
		Questions: asked.Questions,
	}
	resource := func(body dnsmessage.ResourceBody) {
		header := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: seconds}
		out.Answers = append(out.Answers, dnsmessage.Resource{Header: header, Body: body})
	}
	switch {
	case len(z.addresses[name]) == 0 && len(z.reverse[name]) == 0:
		out.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		for _, address := range z.addresses[name] {
			resource(&dnsmessage.AResource{A: address.As4()})
		}
	case question.Type == dnsmessage.TypePTR:
		for _, of := range z.reverse[name] {
			target, err := dnsmessage.NewName(of)
			if err != nil {
				return nil, fmt.Errorf("name of %s: %w", name, err)
			}
			resource(&dnsmessage.PTRResource{PTR: target})
		}
	}
	reply, err := out.Pack()
	if err != nil {
		return nil, fmt.Errorf("make the reply: %w", err)
	}
	return reply, nil
}
