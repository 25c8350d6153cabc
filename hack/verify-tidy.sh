#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Each go.mod and go.sum is what go mod tidy makes of it.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# With empty caches each of them waits for downloads of its own, so they wait together.
tidy() {
  go -C "$1" mod tidy -diff && return
  echo "$1: run: go -C $1 mod tidy" >&2
  return 1
}
checks=()
for module in . hack/tools $(dirname hack/tools/*/go.mod); do
  tidy "$module" &
  checks+=($!)
done
failed=0
for check in "${checks[@]}"; do
  wait "$check" || failed=1
done
exit "$failed"
