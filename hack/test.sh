#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

#   hack/test.sh TIER... [-- FLAG...]
#
# runs the tests of tiers, each by gotestsum with a summary of its own, and with flags for go test, such as -run=NAME. A tier is chosen by
# packages and names of tests:
#
#   units         packages that start no control plane
#   planes        packages that start control planes and take minutes, one at a time: two would hit their bound on a busy machine
#   short-planes  those that take less, two at a time: they wait for half of their time
#   rotation      one rotation of etcd on three real nodes
#   nodes         packages that start real nodes, one at a time, without the scenario of rotation
#   claims        the claims of security, against pods on real nodes
#   list-units    prints the packages of units
#   extended      tests named TestExtended..., and packages that are of no other tier
#
# It fails when a test failed, when a run did not come to its end, when a tier ran no test, and, with CI=true, when a test was skipped:
# nobody reads why a machine skipped it.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly planes=(./test/integration ./test/e2e)
readonly short_planes=(./test/security ./cmd/certrotation/app/controller ./test/recovery ./test/cluster ./controller/etcdhealth)
readonly nodes=(./test/cluster/nodes ./test/e2e/etcd ./test/e2e/pods ./test/e2e/recovery)
readonly others=(./test/cluster/supervisor ./test/versions)

tiers=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  tiers+=("$1")
  shift
done
shift $(($# > 0))
flags=("$@")

# units lists the packages that no list above has, the slowest first. One that is broken is among them: go test says what is wrong with it.
units() {
  go list ./test/simulation
  go list -e ./... | grep -vxFf <(go list -e ./test/simulation "${planes[@]}" "${short_planes[@]}" "${nodes[@]}" "${others[@]}")
}

# extended lists the packages with tests of that name.
extended() {
  git ls-files --cached --others --exclude-standard -- '*_test.go' | xargs grep -l '^func TestExtended' | xargs -n1 dirname | sort -u | sed 's|^|./|'
}

failed=()
# run TIER PARALLEL TIMEOUT [FLAG...] PACKAGE...: golangci-lint vets the code, so that go test need not.
run() {
  local tier="$1" parallel="$2" timeout="$3"
  shift 3
  echo "==> tests of the tier $tier"
  # What nodes and clients went through is told in tables, also when all went well.
  local format=pkgname
  [ "$tier" != nodes ] || format=standard-verbose
  bin/tools/gotestsum --format="$format" --format-icons=text --format-hide-empty-pkg --post-run-command='hack/test-finished.sh' -- \
    -vet=off -p="$parallel" -timeout="${TEST_TIMEOUT:-$timeout}" "${flags[@]}" "$@" || failed+=("$tier")
}

for tier in "${tiers[@]}"; do
  case "$tier" in
    units) mapfile -t packages < <(units) && run units 2 8m -skip='^TestExtended' "${packages[@]}" ;;
    list-units) units ;;
    planes) run planes 1 8m -skip='^TestExtended' "${planes[@]}" ;;
    short-planes) run short-planes 2 8m -skip='^TestExtended|^TestInstalledClaims$' "${short_planes[@]}" ;;
    rotation) run rotation 1 15m -count=1 -run='^TestRotationOnThreeNodes$' ./test/e2e/etcd ;;
    nodes) run nodes 1 30m -count=1 -skip='^TestExtended|^TestRotationOnThreeNodes$' "${nodes[@]}" ;;
    claims) run claims 1 15m -count=1 -run='^TestInstalledClaims$' ./test/security ;;
    extended)
      mapfile -t packages < <(extended)
      run extended 1 60m -count=1 -run='^TestExtended' "${packages[@]}"
      run others 1 30m -count=1 "${others[@]}"
      ;;
    *)
      echo "hack/test.sh: unknown tier \"$tier\"; see the head of this script" >&2
      exit 2
      ;;
  esac
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "failed: ${failed[*]}" >&2
  exit 1
fi
