#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

#   hack/soak.sh DURATION      (90s, 10m, 2h)
#
# looks for what fixed seeds cannot find, a quarter of the time each: the simulator and the properties from fresh seeds, the fuzz targets, and
# the tests without a control plane under the race detector, in a random order of packages. What is running when a quarter ends is
# finished. It ends with a list of the failures, each with the command that repeats it.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! [[ "${1:-}" =~ ^([1-9][0-9]*)([smh])$ ]]; then
  echo "usage: hack/soak.sh DURATION, such as 90s, 10m or 2h" >&2
  exit 2
fi
declare -A unit=([s]=1 [m]=60 [h]=3600)
readonly quarter=$((BASH_REMATCH[1] * unit[${BASH_REMATCH[2]}] / 4))

failed=()
ran=0
# attempt COMMAND... counts the command, and keeps it if it fails.
attempt() {
  ran=$((ran + 1))
  echo "== $*"
  "$@" || failed+=("$*")
}

fresh_seed() { od -An -N4 -tu4 /dev/urandom | tr -d ' '; }

# The worlds of the simulator take turns: all kinds, those with pods, those with programs that read their files only when they start,
# those with an issuer.
end=$((SECONDS + quarter))
while [ "$SECONDS" -lt "$end" ]; do
  for worlds in "" pods started issued; do
    attempt make simulate WORLDS="$worlds" SEED="$(fresh_seed)" STEPS=40000 STORIES=100
  done
done

mapfile -t properties < <(git grep -l '"certrotation.dev/test/property"' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')
end=$((SECONDS + quarter))
while [ "$SECONDS" -lt "$end" ]; do
  attempt env SEED="$(fresh_seed)" go test -count=1 -vet=off -skip='^Test(Extended|Simulation)' "${properties[@]}"
done

targets="$(git grep -ho '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | wc -l)"
attempt hack/fuzz.sh "$((quarter / targets + 1))s"

end=$((SECONDS + quarter))
mapfile -t packages < <(hack/test.sh list-units | shuf)
for package in "${packages[@]}"; do
  [ "$SECONDS" -lt "$end" ] || break
  attempt env CGO_ENABLED=1 go test -race -count=1 -vet=off -skip='^TestExtended' "$package"
done

echo
echo "soak: $ran searches, ${#failed[@]} failed"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'to repeat it: %s\n' "${failed[@]}"
  exit 1
fi
