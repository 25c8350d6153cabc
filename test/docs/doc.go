// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs checks the pages of the repository against its code: what a page names must exist. It reads files
// only, and compiles nothing.
//
//   - a link leads to a file, and to a heading of it;
//   - a path and a function (`package.Function`, `package.Type.Method`) that a page names exist;
//   - docs/mistakes.md names tests that exist;
//   - what docs/comparison.md calls the same as elsewhere is in the code under that name;
//   - docs/known-issues.md and docs/pods.md explain each reason of a blocker and of a problem;
//   - docs/reference.md explains exactly the conditions, events, metrics and guard rules that the code makes. The
//     tests find the values of an expression in the source, without types (packages_test.go, values_test.go). The
//     runbook has each alert;
//   - no two packages share a base name, so that a name leads to one place;
//   - a text for people is written in one file.
//
// Tests run in the directory of their package, so all paths begin at root.
package docs
