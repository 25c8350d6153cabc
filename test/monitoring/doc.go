// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring checks the manifests for monitoring against the programs that read them.
// hack/tools/prometheus tests the queries of the alerts and of the dashboard.
package monitoring
