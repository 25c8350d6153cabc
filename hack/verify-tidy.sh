#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Each go.mod and go.sum is what go mod tidy makes of it.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
for module in . hack/tools $(dirname hack/tools/*/go.mod); do
  if ! go -C "$module" mod tidy -diff; then
    echo "$module: run: go -C $module mod tidy" >&2
    failed=1
  fi
done
exit "$failed"
