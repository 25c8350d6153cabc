// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package security holds the claims of docs/security.md against attackers: each is attacked on a real kube-apiserver, with
// the Node authorizer, an audit log and tenants who have the tokens of real ServiceAccounts.
//
// An attack that fails shows nothing by itself, because it may fail for any reason. So each attack is made twice: by
// TestClaims on the build that is shipped, where it must fail, and by TestExtendedClaims on a build of certrotation without the
// border that the claim is about, where it has to succeed. The latter is the source with single texts replaced (go build
// -overlay), each of which has to occur exactly once; TestBorders sees to that whenever the former runs. Where a border is in a
// manifest or in the model, the change is made in the manifest, or the tests of the model are run with it.
//
// TestInstalledClaims makes the attacks on pods of real nodes.
//
// To see that something does not happen, the tests do not wait for time to pass: after an attack they create an honest
// namespace, and look at the target of the attack when certrotation has finished that namespace.
package security
