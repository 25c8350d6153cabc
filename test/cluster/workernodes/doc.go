// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workernodes starts a control plane whose workloads run as pods. It takes the control plane of package
// cluster, with kube-scheduler and the workload controllers, and nodes of package nodes. certrotation is installed on
// the nodes by its manifests, and the sample manifests/samples/pods runs.
//
//	c, err := workernodes.Start(ctx, workernodes.Config{Dir: dir})
//	err = c.InstallSample(ctx)
//	err = c.InstallWebhook(ctx)   // manifests/samples/webhook-server
//	err = c.InstallHosted(ctx)    // manifests/samples/hosted-etcd, twice
//
// # What a pod has
//
// A pod has its own address, which every pod, every node and this machine reach without translation. It has a token
// that is bound to it, and volumes that kubelet updates within seconds. It resolves the names of headless Services
// and of their pods (nameserver). There is no kube-proxy: kube-apiserver connects to the endpoints of Services
// itself, and the addresses of Services do not answer. So pods take the address of kube-apiserver from their
// environment. The ConfigMap "environment" of a namespace sets it, and a patch sets it in the Deployments of
// certrotation.
//
// # The directory
//
// It holds the directory of package cluster, and besides
//
//	nodes/   the nodes (package nodes)
//	images/  the images of the sample and of hosted control planes
//	hosted/  the certificates with which hosted API servers serve and authenticate their users
//
// With Config.Detach every step is repeatable: a second start adopts what runs and starts the rest.
//
// Only the processes run in the background (see package cluster).
package workernodes
