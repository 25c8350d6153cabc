// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image builds the image of certrotation, without a container engine: one static program from scratch, for each platform,
// which runs as an unprivileged user.
//
// The same commit makes the same bytes: nothing in the image tells where or when it was made, and all dates are those of the commit.
// What it writes to --output-dir:
//
//	oci/                          an OCI layout with the index of all platforms
//	certrotation.tar              the same as a tar, for `ctr image import` and its like
//	certrotation-ARCH.spdx.json   what the program is made of, in SPDX 2.3
//	digest                        that of the index, by which manifests name the image
//	kustomization.yaml            a component that has Deployments and StaticPodClasses run the image
//	values.yaml                   the same for the chart
package main
