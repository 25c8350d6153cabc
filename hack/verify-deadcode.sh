#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Every function of the product is reached from one of its programs, and every other one from a program or a test
# (deadcode, pinned in hack/tools/lint). Generated code is left out. A library is for programs of others, for which its tests
# and examples stand: what they reach of the packages that the library links is reached.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

hack/build-tools.sh lint
programs="$(bin/tools/deadcode -filter '^certrotation\.dev/(admission|apis|cmd|controller|registry)(/|$)' ./cmd/...)"
libraries=(./controller/secrets/...)
linked="$(go list -deps "${libraries[@]}" | sed -n 's#^certrotation\.dev/##p')"
unreached="$(bin/tools/deadcode -test -filter '^certrotation\.dev/(controller|registry)(/|$)' "${libraries[@]}")"
programs="$(while IFS= read -r line; do
  if ! grep -qxF "$(dirname "${line%%:*}")" <<<"$linked" || grep -qxF "$line" <<<"$unreached"; then echo "$line"; fi
done <<<"$programs")"
tests="$(bin/tools/deadcode -test -filter '^certrotation\.dev(/|$)' ./...)"
found="$(printf '%s\n%s\n' "$programs" "$tests" | grep -v '^$' | sort -u || true)"
if [ -n "$found" ]; then
  echo "$found"
  echo "delete what nothing reaches" >&2
  exit 1
fi
