// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets is Gardener's SecretsManager as a library: a controller says which secrets it needs, and gets them made, signed,
// renewed, rotated and cleaned up. It reads and writes the same Secrets, by the same names and labels, so that a namespace that
// Gardener keeps is taken over as it is.
//
//	instance, err := secrets.New(ctx, clock, client.CoreV1(), "my-controller", secrets.WithNamespaces(namespace))
//	ca, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{Name: "ca", CertType: kinds.CACert}, secrets.Rotate(secrets.KeepOld))
//	leaf, err := instance.Generate(ctx, &kinds.CertificateSecretConfig{Name: "server", ...}, secrets.SignedByCA("ca"))
//	bundle, found := instance.Get("ca")                                    // what is to be mounted by who verifies the server
//	err = instance.Cleanup(ctx)                                            // after everything was asked for
//
// Example has a reconciliation, and docs/secrets.md the words, the options and what is different from Gardener. An [Instance] is for
// one reconciliation: it costs one list of the Secrets of its identity for each namespace, and nothing else if nothing is to be done.
//
// The rules are those of registry/edition; here is what asks them, and what reads and writes. Invariants:
//
//   - Secrets are the only truth. What an instance remembers, it has read or made.
//   - Who asks for the same gets the same object, in parallel and from several replicas: names follow from what is asked for, and
//     of those who create one, all but the first take what is there.
//   - Nothing is written that is there already. A Secret of another owner, or one that is not what it should be, is an error and
//     stays as it is.
//   - Data are never changed: what is to be other data is another object.
//   - An authority that has expired, or is not valid yet, signs nothing, and no leaf outlives its signer.
//   - What is deleted is the object that was looked at (UID and resource version), and registry/edition has said that it may go.
//   - No part of a key, a password or a token is in a log, an event or an error.
//
// The package starts no goroutine. An Instance may be used from several at once, as graphs of tasks do.
package secrets
