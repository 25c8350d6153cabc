// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package holes tells, one test for each, the stories in which certificate rotations of the past took a system down, and
// shows what this one does instead. A test is named after the mistake that it tells (docs/mistakes.md).
//
// A story runs the real controller (controller/rotation) over an API server in memory, with real keys, beside processes
// that trust and present what they have loaded and nothing else. After every write and every step crypto/x509 says
// whether everybody who verifies a leaf accepts it, by a clock that is right and by one that is two minutes slow, and
// whether a process that starts now would. Edits by people are put to trust.Judge as the webhook does, and then often
// made all the same, as if the webhook were not there.
//
// What a process reports is good for an hour. While a rotation is in flight it repeats what it said last before that is
// over, as its reporter does, and so a story that lasts longer has a blocker for who lags and for nobody else.
//
// Each story is told again with rules of the system that made the mistake (or with a plain error) in the place of one
// of ours, and must then fail for the reason that the mistake is about. A story without such broken rules is no test.
//
// docs/mistakes.md lists every mistake of the registers H (OpenShift's etcd), G (Gardener) and K (Kyma), and the situations T,
// each with the tests that show it, of this package or of another. The name of a story begins with its entry there; test/docs
// holds both to each other.
package holes
