#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs go test with the given arguments (packages and flags; everything by default) and ends with a summary of what ran,
# what failed, and what was skipped and why (hack/testsummary). The exit code is not 0 when a test failed or none ran.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ $# -gt 0 ] || set -- ./...
mkdir -p bin
go build -o bin/testsummary ./hack/testsummary
go test -json -timeout "${TEST_TIMEOUT:-30m}" "$@" | bin/testsummary
