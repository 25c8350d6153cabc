// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is the kubectl plugin "kubectl certrotation": it shows the trust domains of a cluster as a tree, and asks
// for rotations and follows them.
//
// The plugin knows the API only: it reads CertificateRotations and BundleStatuses and posts to their subresources. It
// derives nothing that the server has derived already: stages, trust and blockers are printed as they were served.
//
// adopt and release are the exception, because consent is given by whoever may write an object: they read the Secrets and
// ConfigMaps of a configuration with the caller's own rights, look at nothing in a Secret but its certificate, and write
// nothing but one annotation, and the label of the Namespace.
//
// Text that comes from the server (subjects of certificates, messages, names) is printed with its control characters
// made visible, because whoever can have a certificate parsed can choose its subject.
//
// Each command runs in the goroutine of Run. Only a wait starts others, those of one informer; they hand events over
// through a queue, and have ended when the wait returns.
package app
