// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command score has kube-score judge what each overlay and each sample installs. Whatever it finds is a failure, unless waivers.yaml
// says why it is none; so is a waiver that nothing needs.
//
// The pods of manifests that are text inside of an object, as etcd's on nodes, are not seen: a StaticPodClass judges these.
package main
