#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs go test with the given arguments (packages, and flags as -name=value; everything by default) and ends with a summary
# of what ran, what failed, and what was skipped and why. hack/testsummary does it, and its exit code is this script's: not 0
# when a test failed, when none ran, or when go test did not tell the end of every package.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p bin
go build -o bin/testsummary ./hack/testsummary
# hack/verify-vet.sh has vet look at everything, so that go test need not once more.
exec bin/testsummary "-timeout=${TEST_TIMEOUT:-50m}" -vet=off "$@"
