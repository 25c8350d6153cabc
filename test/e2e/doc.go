// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the whole system. It runs a real control plane, certrotation as processes with the rights of
// their ServiceAccounts, and the programs of the sample as traffic. The tests use the tools of an administrator:
// kubectl, the plugin, openssl and kill -9.
//
// All tests share one system, which the first of them starts. Each test leaves every trust domain Stable. Parallel
// tests use namespaces of their own and end no process. After the last test, a search looks in logs, events and
// answers for the private keys of all Secrets that existed meanwhile.
package e2e
