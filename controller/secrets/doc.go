// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets is Gardener's SecretsManager as a library. A controller says which secrets it needs; the library
// makes, signs, renews, rotates and cleans them up. It reads and writes the same Secrets, by the same names and
// labels, so it takes over a namespace of Gardener as it is.
//
//	instance, err := secrets.New(ctx, clock, client.CoreV1(), "my-controller", secrets.WithNamespaces(namespace))
//	ca, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{Name: "ca", CertType: kinds.CACert}, secrets.Rotate(secrets.KeepOld))
//	leaf, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{Name: "server", ...}, secrets.SignedByCA("ca"))
//	bundle, found := instance.Get("ca")                                    // mount it where clients verify the server
//	err = instance.Cleanup(ctx)                                            // after all calls of Generate
//
// Example shows a reconciliation. docs/secrets.md explains the words, the options and the differences from Gardener.
// An [Instance] is for one reconciliation. It costs one list of the Secrets of its identity per namespace, and
// nothing else if there is nothing to do.
//
// The rules are in registry/edition; this package calls them, reads and writes. Invariants:
//
//   - Secrets are the only truth. What an instance remembers, it has read or made.
//   - The same request gets the same object, in parallel and from several replicas. Names follow from the request,
//     and all but the first that create an object take the existing one.
//   - Nothing is written that exists already. A Secret of another owner, or with other content than expected, is an
//     error and stays as it is.
//   - Data never change: other data means another object.
//   - A CA that has expired, or is not valid yet, signs nothing. No leaf outlives its signer.
//   - Only the object that was read is deleted (UID and resource version), and only if registry/edition allows it.
//   - No log, event or error has any part of a key, a password or a token.
//
// The package starts no goroutine. An Instance may be used from several goroutines at once, as graphs of
// tasks do.
package secrets
