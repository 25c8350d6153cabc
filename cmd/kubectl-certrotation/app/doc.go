// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is the kubectl plugin "kubectl certrotation". It shows the trust domains of a cluster as a tree, and
// requests and follows rotations.
//
// The plugin only uses the API: it reads CertificateRotations and BundleStatuses and posts to their subresources. It
// derives nothing that the server already derives, and prints stages, trust and blockers as served.
//
// The commands doctor and history also read what Kubernetes itself has of an installation: the APIService, the
// definitions, the webhooks, Deployments, the Lease of the controller, and events. They read no Secret. What the
// caller may not read is unknown, never a failure. doctor takes the time from the API server.
//
// The commands adopt and release are an exception, because consent is given with the right to write an object. They
// read the Secrets and ConfigMaps of a configuration with the caller's own rights, and parse only the certificate of
// a Secret. They write only one annotation and the label of the Namespace.
//
// Text from the server (certificate subjects, messages, names) is printed with its control characters made visible.
// Anyone who can get a certificate parsed can choose its subject.
//
// Each command runs in the goroutine of Run. Only a wait starts other goroutines, for one informer. They pass events
// through a queue and end before the wait returns.
package app
