// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package property runs the property tests of pgregory.net/rapid from a fixed seed, so that a test fails because of
// a change and not by chance. SEED=NUMBER in the environment, as `make soak` sets it, starts from another seed. A
// failure prints -rapid.seed=NUMBER, which repeats it.
//
// rapid reads the number of checks from RAPID_CHECKS.
package property
