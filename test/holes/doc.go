// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package holes tests the stories in which certificate rotations of other systems caused outages. A test is named
// after the mistake that it is about (docs/mistakes.md).
//
// A story runs the real controller (controller/rotation) over an API server in memory, with real keys. Its
// processes trust and present only what they have loaded. After every write and step, every verifier must accept
// each presented leaf, and so must a process that starts now. crypto/x509 decides, by a right clock and by one that
// is two minutes slow. trust.Judge judges edits of people as the webhook does. Often the edit is then made all the
// same, as if there were no webhook.
//
// A report of a process counts for an hour. While a rotation is in flight, the process repeats its last report
// before that ends, as its reporter does. So in a longer story only members that lag have blockers.
//
// Each story is also run with rules of the system that made the mistake, or with a plain error, instead of one of
// ours. It must then fail for the reason that the mistake is about. A story needs such broken rules to be a test.
//
// docs/mistakes.md lists the mistakes H (OpenShift's etcd), G (Gardener) and K (Kyma), and the situations T. Each
// has the tests that show it, here or in another package. The name of a story begins with its entry there.
// test/docs checks this in both directions.
package holes
