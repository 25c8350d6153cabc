// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory turns the objects of a cluster into the input of the model. It parses each configuration, record,
// Secret, ConfigMap, Pod and Node once into facts (Sources). Build makes trust.Domain values of a configuration and
// its Sources.
//
// An Inventory watches the managed namespaces: those whose Namespace has the label trust.LabelManaged, or those that
// the installation names. It lists, watches, reads and parses nothing in any other namespace. The transform of an
// informer parses an object before it is stored. The store keeps a small struct of this package: certificates (shared
// by content through one pki.Cache), the annotations and labels that the model uses, and errors as text. It keeps no
// PEM and no private key: a key is parsed once, to check that it belongs to its certificate, and dropped in the same
// call.
//
// Invariants:
//
//   - No parsed form of a key outlives the garbage collection after a list or an event. The bytes of the Secret are
//     wiped. Buffers of TLS, HTTP/2 and the protobuf and JSON decoders may hold its text until they are reused or
//     collected; heap_test.go shows what is left.
//   - Build is pure: the same Sources give the same Namespace, in the same order. It parses nothing.
//   - Sources and everything below them are immutable and shared between goroutines. With* return changed copies.
//   - The size of a configuration is checked before it is expanded. One that is too large is a Problem on it.
//   - A broken configuration, object or record is a Problem on that object and affects nothing else.
//   - Namespaces that are not managed cost nothing: 50 managed namespaces of 5,000 cost 50. When a namespace is no
//     longer managed, its informers end, all its facts are dropped, and OnChange is called.
//   - ConfigMaps are read only in managed namespaces with a configuration. A namespace is known when everything of it
//     has been listed: nothing is ever missing because it was not read yet.
//   - A read that the API server refuses (403), or does not know (404), is logged once. The metric
//     certrotation_reads_refused reports it while it lasts. HasSynced waits for it, unless the installation names its
//     namespaces. A named namespace delays no other: it is unknown until it can be read. Without the nodes,
//     configurations that depend on nodes have a problem and no effect.
//   - If an object does not consent (trust.Consents) to the configuration that names it, the model knows only that it
//     exists. If it consents to no configuration, its keys and bundles are not parsed.
//   - A label never hides content: a bundle that consents is parsed because of its key, with any labels.
//   - Namespace never returns a state from before a change whose OnChange call has begun.
//
// Goroutines: Start runs the informers of Namespaces, Nodes and StaticPodClasses, and one goroutine that ends when
// the nodes have been listed. Each managed namespace has one goroutine for each of its five sources, and one that
// ends when they have been listed. ConfigMaps, the pods of each selector, and the editions of each identity add two while
// a configuration demands them: the informer, and one that ends when they have been listed. All of them end when the
// namespace is no longer managed. Wait waits for all of them after the context of Start has ended. OnChange functions run
// on these goroutines.
package inventory
