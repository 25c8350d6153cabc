#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Every function of the product is reached from one of its programs, and every other one from a program or a test
# (deadcode, pinned in hack/tools/lint). Generated code is left out. Libraries are for programs of others, for which their tests
# and examples stand. The programs' own packages have no tests, so -test adds only those of libraries.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

hack/build-tools.sh lint
mapfile -t programs < <(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./cmd/...)
product="$(bin/tools/deadcode -test -filter '^certrotation\.dev/(admission|apis|cmd|controller|registry)(/|$)' "${programs[@]}" ./controller/secrets/... ./controller/reload)"
tests="$(bin/tools/deadcode -test -filter '^certrotation\.dev(/|$)' ./...)"
found="$(printf '%s\n%s\n' "$product" "$tests" | grep -v '^$' | sort -u || true)"
if [ -n "$found" ]; then
  echo "$found"
  echo "delete what nothing reaches" >&2
  exit 1
fi
