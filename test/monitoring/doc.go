// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring holds what is installed for monitoring to what reads it. What the alerts and the dashboard ask Prometheus is
// tested in hack/tools/prometheus.
package monitoring
