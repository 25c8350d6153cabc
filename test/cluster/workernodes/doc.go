// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workernodes starts a control plane whose workloads run as pods: the one of package cluster, with kube-scheduler and the
// controllers of workloads, and nodes of package nodes, on which certrotation is installed by its manifests, and the sample
// manifests/samples/pods runs.
//
//	c, err := workernodes.Start(ctx, workernodes.Config{Dir: dir})
//	err = c.InstallSample(ctx)
//	err = c.InstallWebhook(ctx)   // manifests/samples/webhook-server
//	err = c.InstallHosted(ctx)    // manifests/samples/hosted-etcd, twice
//
// # What a pod has
//
// An address of its own, which every pod, every node and this machine reach without translation; a token that is bound to it;
// volumes that kubelet brings up to date within seconds; the names of headless Services and of their pods (nameserver). There is no
// kube-proxy: Services have endpoints, to which kube-apiserver connects itself, and no address that answers. The ConfigMap
// "environment" of a namespace, which a pod takes its environment from, says where kube-apiserver is, and so does the environment
// that is put into the Deployments of certrotation.
//
// # The directory
//
// It holds that of package cluster, and besides
//
//	nodes/   the nodes (package nodes)
//	images/  the image of the sample, and those of hosted control planes
//	hosted/  by which hosted API servers serve and know their users
//
// With Config.Detach every step is repeatable; a second start takes over what runs and starts what does not.
//
// Nothing runs in the background but the processes (see package cluster).
package workernodes
