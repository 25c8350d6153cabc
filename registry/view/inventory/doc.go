// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory turns what a cluster holds into what the model wants to know: configurations, records, Secrets,
// ConfigMaps and Nodes become Sources, facts that were parsed once; a configuration and its Sources become trust.Domain
// values.
//
// An Inventory watches the cluster. Each object is parsed in the transform of its informer, before it is stored, and
// what the store keeps is a small struct of this package: certificates (shared by content through one pki.Cache), the
// annotations and labels that the model looks at, and what was wrong as text. No PEM is kept and no private key: a
// key is looked at once, to see whether it belongs to its certificate, and is forgotten in the same call.
//
// Invariants:
//
//   - Build is pure: the same Sources give the same Namespace, in the same order, and nothing is parsed in it.
//   - Sources and everything below them are immutable and shared between goroutines. With* return changed copies.
//   - A broken configuration, object or record is a Problem on that object; it takes nothing else with it.
//   - ConfigMaps are read in the namespaces that have a configuration, and nowhere else. Such a namespace is known when
//     they have been listed: a bundle is never missing because it was not read yet.
//   - Of an object that does not consent (trust.Consents) to the configuration that names it the model knows that it exists. No
//     key is looked at in an object that consents to no configuration, and no bundle is parsed.
//   - A label never hides content: a bundle that consents is parsed because of its key, whatever its labels say.
//   - Namespace never answers from before a change whose OnChange call has begun.
//
// Goroutines: Start runs the informers; for each namespace that gets its first configuration two more goroutines begin,
// one of which ends when its ConfigMaps have been listed, the other when the last configuration is gone. Wait waits for all
// of them after the context of Start has ended. OnChange functions run on these goroutines.
package inventory
