#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Each go.mod and go.sum is what go mod tidy makes of it.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# With empty caches each of them waits for downloads of its own, so they wait together.
printf '%s\n' . hack/tools $(dirname hack/tools/*/go.mod) |
  xargs -P 0 -I{} bash -c 'go -C {} mod tidy -diff || { echo "{}: run: go -C {} mod tidy" >&2; exit 1; }'
