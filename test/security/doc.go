// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package security tests the claims of docs/security.md against attackers: each is attacked on a real
// kube-apiserver, with the Node authorizer, an audit log, and tenants with the tokens of real ServiceAccounts.
//
// A failed attack alone proves nothing, because it may fail for any reason. So each attack is made twice:
// TestClaims makes it on the shipped build, where it must fail. TestExtendedClaims makes it on a build without the
// border of the claim, where it must succeed. That build replaces single texts of the source (go build -overlay),
// each of which must occur exactly once. TestBorders checks this whenever TestClaims runs. For a border in a
// manifest, the manifest is changed. For a border of the model, the tests of the model run with the change.
//
// TestInstalledClaims attacks pods on real nodes.
//
// Tests that something does not happen do not wait for time to pass. After an attack they create an honest
// namespace. They check the target of the attack when certrotation has finished that namespace.
package security
