// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dashboard reads manifests/dashboard/certrotation.json by Grafana's own schema, and evaluates what its panels ask for with the
// query engine of Prometheus. Its tests hold each query to the metrics that the programs have and to a year of them (package year).
package dashboard
