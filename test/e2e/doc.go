// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e holds the tests of the whole system: a real control plane, certrotation as processes with the rights of
// their ServiceAccounts, and the sample's programs as traffic. They run what a person would run: kubectl, the plugin,
// openssl and kill -9.
//
// All tests share one system, started by the first of them. Each leaves every trust domain Stable. Parallel are those with
// namespaces of their own that end no process. When all have ended, what was logged and said is searched for the private keys of
// all Secrets that there were meanwhile.
package e2e
