#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# The programs link nothing that is made for tests. k8s.io/apiserver itself links some of it (client-go's fakes, by
# admission/plugin/policy/generic), so what is refused is that a package of ours imports it; clocks and clients of our own
# that are made for tests must not be linked at all.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly for_tests='(/fake|/testing|/testutil|/httptest|/ktesting)$|^testing(/|$)|^certrotation\.dev/test/'
imported="$(go list -deps -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}' ./cmd/... |
  awk -v pattern="$for_tests" '$1 ~ /^certrotation\.dev\// && $1 !~ /\/fake$/ && $2 ~ pattern { print $1 " imports " $2 }')"
linked="$(go list -deps ./cmd/... | grep -E '^k8s\.io/utils/clock/testing$|^certrotation\.dev/(generated/.*/fake|test/.*)$' || true)"
if [ -n "$imported$linked" ]; then
  printf '%s\n%s\n' "$imported" "$linked" | grep -v '^$' | sort -u
  echo "the programs must not link what is made for tests" >&2
  exit 1
fi

# Unit tests have one API server: test/apifake alone is made of client-go's fakes.
fakes="$(grep -rlE --include='*.go' '"(k8s\.io/client-go/(kubernetes|metadata|dynamic)/fake|[^"]*/clientset/fake|certrotation\.dev/generated/.*/fake)"' . |
  grep -vE '^\./(generated|test/apifake)/' || true)"
if [ -n "$fakes" ]; then
  echo "$fakes"
  echo "the API server of unit tests is test/apifake; nothing else uses client-go's fakes" >&2
  exit 1
fi
