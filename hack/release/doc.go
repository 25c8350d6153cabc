// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release makes what is published of a version, out of a commit that nothing was changed of, into one directory:
//
//	certrotation_VERSION_OS_ARCH.tar.gz            the program of the image, which also runs on nodes (doctor, recover)
//	kubectl-certrotation_VERSION_OS_ARCH.tar.gz    the plugin of kubectl, and what completes its commands; .zip for Windows, which lacks that
//	krew.yaml                                      by which krew installs the plugin
//	PROGRAM_VERSION_OS_ARCH.spdx.json              what each program is made of
//	certrotation-image.tar                         the image of hack/image, an OCI layout
//	certrotation-VERSION.tgz                       the Helm chart
//	crds.yaml, OVERLAY.yaml                        each of manifests/overlays
//	go-import.html                                 what https://certrotation.dev/?go-get=1 has to serve before `go get` finds the packages
//	NOTES.md                                       what CHANGELOG.md says, all digests, and the commits since the version before
//	checksums.txt                                  of all of these, for sha256sum -c
//
// Chart and manifests name the image by its digest. The same commit and the same Go make the same bytes: all dates are those of the
// commit.
package main
