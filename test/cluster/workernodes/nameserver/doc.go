// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command nameserver is the name service of package workernodes. It answers for the names of headless Services and of
// their pods. It also answers reverse lookups of their addresses, for programs like etcd that look up the names of
// their clients. It answers over UDP from the EndpointSlices, and knows no names outside the cluster.
//
//	SERVICE.NAMESPACE.svc.cluster.local            the ready pods, or all if the Service publishes not-ready addresses
//	HOSTNAME.SERVICE.NAMESPACE.svc.cluster.local   one of them
//
// Goroutines: the informer of EndpointSlices, and the loop that answers. Both end with the command's context.
package main
