// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apifake is the API server of unit tests: what client-go's fake clients lack and the controllers rely on. What is
// written gets a UID, a time and a resource version that only grows; an update on an old version and a delete with another
// UID conflict; and a named [Fault] befalls a write when a test says so.
//
// It knows the core group and the group of configurations and records. It does not validate, default or authorize, and it
// does not collect garbage: tests of those run against a real kube-apiserver (test/integration, test/e2e).
//
// Writes of a test itself ([Server.Put], [Server.Drop]) count as nobody's and meet no fault. A Server may be used from several
// goroutines, but its fields are set before.
package apifake
