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

# Packages that start control planes run one at a time: two kube-apiservers on a small machine only wait for each other.
planes='^certrotation.dev/(test/(cluster|e2e|integration|recovery)(/.*)?|cmd/certrotation/app/controller|controller/quorum)$'
flags=() alone=() together=()
for argument in "$@"; do
  case "$argument" in
    -*) flags+=("$argument") ;;
    *) while read -r package; do
         if [[ "$package" =~ $planes ]]; then alone+=("$package"); else together+=("$package"); fi
       done < <(go list "$argument") ;;
  esac
done
run() { # run PARALLEL PACKAGE...: nothing if there is no package
  local parallel="$1"
  shift
  [ $# -eq 0 ] || go test -json -p "$parallel" -timeout "${TEST_TIMEOUT:-50m}" "${flags[@]}" "$@"
}
status=0
{ run 2 "${together[@]}" || true; run 1 "${alone[@]}" || true; } | bin/testsummary || status=$?
exit "$status"
