#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of the tree, one after another, each for the given time (30s by default). A failing input is kept
# by go test under testdata/fuzz of its package; commit it with the fix. Minimizing is bounded by runs, not by go's 60s: it
# would take the whole time for one input.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

duration="${1:-30s}"
targets=0
failed=()
while IFS=: read -r file function; do
  package="./$(dirname "$file")"
  targets=$((targets + 1))
  echo "== $package $function ($duration)"
  go test -run "^$" -fuzz "^$function\$" -fuzztime "$duration" -fuzzminimizetime 10x "$package" || failed+=("$package $function")
done < <(git ls-files --cached --others --exclude-standard -- "*_test.go" | sort |
  xargs grep -Ho "^func Fuzz[A-Za-z0-9_]*" | sed "s/func //")
echo
echo "$targets fuzz targets ran, ${#failed[@]} failed"
for target in "${failed[@]}"; do echo "  $target"; done
[ "$targets" -gt 0 ] && [ ${#failed[@]} -eq 0 ]
