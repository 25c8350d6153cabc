#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Every Go file is as gofmt -s writes it.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

unformatted="$(git ls-files -z --cached --others --exclude-standard -- "*.go" | xargs -0 gofmt -s -l)"
if [ -n "$unformatted" ]; then
  echo "$unformatted"
  echo "not formatted; run: gofmt -s -w FILE..." >&2
  exit 1
fi
