// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alerts holds manifests/alerts/rules.yaml to its tests, with the rules and the query engine of Prometheus:
//
//   - the tests beside the rules, in the format of `promtool test rules`, which runs them as well. They are run here because promtool
//     links every service discovery of Prometheus and half of client-go, and takes twice as long to build;
//   - each alert has a test in which it fires, and one in which it is about to and does not;
//   - no alert fires in the healthy year of package year.
package alerts
