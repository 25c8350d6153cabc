#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the benchmarks of test/bench with the given flags (-h lists them), prints Markdown tables, and keeps them with every
# sample in .local/bench. It needs `make tools build`.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p bin .local/bench
# A program of its own rather than `go run`: an interrupt has to reach it, so that it stops its control plane.
go build -o bin/bench ./test/bench
bin/bench "$@" | tee -i .local/bench/latest.md
