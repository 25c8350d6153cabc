// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory turns the objects of a cluster into the input of the model: configurations, records, Secrets,
// ConfigMaps and Nodes become Sources, facts that were parsed once; a configuration and its Sources become trust.Domain
// values.
//
// An Inventory watches the managed namespaces: those whose Namespace has the label trust.LabelManaged, or those that
// the installation names. Nothing is listed, watched, read or parsed in any other namespace. Each object is parsed in
// the transform of its informer, before it is stored, and the store keeps a small struct of this package: certificates
// (shared by content through one pki.Cache), the annotations and labels that the model uses, and errors as text. No PEM
// and no private key is kept: a key is parsed once, to check that it belongs to its certificate, and is forgotten in
// the same call.
//
// Invariants:
//
//   - After the garbage collection that follows a list or an event no key of a Secret is in memory in any form that was parsed, and
//     the bytes of the Secret were wiped. What may still hold its text is not ours to wipe: buffers of TLS, HTTP/2 and the decoders
//     of protobuf and JSON, until they are used again or collected; heap_test.go shows what is left.
//   - Build is pure: the same Sources give the same Namespace, in the same order, and nothing is parsed in it.
//   - Sources and everything below them are immutable and shared between goroutines. With* return changed copies.
//   - What a configuration expands to is counted before anything is made of it; one that is too large is a Problem on it.
//   - A broken configuration, object or record is a Problem on that object; it takes nothing else with it.
//   - What is not managed costs nothing: 50 managed namespaces of 5,000 are 50. When a namespace ceases to be managed its
//     informers end, everything of it is dropped, and OnChange is called.
//   - ConfigMaps are read in the managed namespaces that have a configuration, and nowhere else. A namespace is known when
//     everything of it has been listed: nothing is ever missing because it was not read yet.
//   - What the API server refuses to let us read (403) is said once in the log, and by the metric
//     certrotation_reads_refused for as long as it lasts. In a cluster it is waited for. A namespace that the installation
//     names holds nobody up: it is unknown until it can be read. Without the nodes, configurations that are about nodes
//     have a problem, and no effect.
//   - Of an object that does not consent (trust.Consents) to the configuration that names it the model knows that it exists. No
//     key is looked at in an object that consents to no configuration, and no bundle is parsed.
//   - A label never hides content: a bundle that consents is parsed because of its key, whatever its labels say.
//   - Namespace never answers from before a change whose OnChange call has begun.
//
// Goroutines: Start runs the informers of Namespaces and Nodes, and one goroutine that ends when the nodes have been listed.
// For each namespace that is managed there are one for each of its five sources and one that ends when they have been
// listed; for each that gets its first configuration two more, one of which ends when its ConfigMaps have been listed, the
// other when the last configuration is gone. All of them end when the namespace is not managed any more. Wait waits for
// all of them after the context of Start has ended. OnChange functions run on these goroutines.
package inventory
