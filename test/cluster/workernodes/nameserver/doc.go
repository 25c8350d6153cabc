// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command nameserver is the cluster's name service of package workernodes: the names of headless Services and of their pods, and
// the names of these addresses, for programs like etcd that look up who connects to them. It answers over UDP, by the
// EndpointSlices, and knows nothing of the world.
//
//	SERVICE.NAMESPACE.svc.cluster.local            the pods that are ready, or all where the Service publishes those too
//	HOSTNAME.SERVICE.NAMESPACE.svc.cluster.local   one of them
//
// Goroutines: the informer of EndpointSlices, and the loop that answers. Both end with the command's context.
package main
