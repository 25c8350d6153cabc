// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package versions tests what a user needs on a Kubernetes that is older than the one of all other tests: definitions, APIService
// and webhook are taken, rows are listed and watched through the aggregator, the guard is asked, a rotation comes to its end, and what
// this Kubernetes does not serve stops nothing else. Everything of the control plane that is run here, and kubectl, is of that version;
// etcd is the newest one.
//
// `make test` runs it on the oldest version, `make test-versions` on each that hack/tools has a module of: the environment variable
// CERTROTATION_KUBERNETES names it. How certrotation is installed as pods of nodes of an older version is tested by the same variable in
// test/e2e/pods.
package versions
