// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package security holds the claims of docs/security.md against attackers: each is attacked on a real kube-apiserver, with
// the Node authorizer, an audit log and tenants who have the tokens of real ServiceAccounts.
//
// An attack that fails shows nothing by itself: it may fail for any reason. So each is made twice, first on a build of
// certrotation without the border that the claim is about, where it has to succeed, and then on the build that is shipped,
// where it must not. Such a build is the source with single texts replaced (go build -overlay), each of which has to stand
// there exactly once. Where a border is not in a process but in a manifest or in the model, the manifest or the tests of the
// model are given the mutant instead.
//
// That something does not happen is seen without waiting for time to pass: an honest namespace is made after the attack, and
// what was attacked is looked at when certrotation has brought that namespace to rest.
package security
