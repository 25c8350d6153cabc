#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs every hack/verify-*.sh, even after one failed, and ends with a summary. A check is left out with its name in the
# environment: VERIFY_CODEGEN=false skips hack/verify-codegen.sh.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=()
skipped=()
passed=0
begun=$SECONDS
for script in hack/verify-*.sh; do
  name="$(basename "$script" .sh)"
  [ "$name" != verify-all ] || continue
  switch="$(echo "$name" | tr "a-z-" "A-Z_")"
  if [ "${!switch:-true}" = false ]; then
    skipped+=("$name")
    continue
  fi
  echo "== $name"
  start=$SECONDS
  if "$script"; then
    passed=$((passed + 1))
    echo "   ok ($((SECONDS - start)) s)"
  else
    failed+=("$name")
    echo "   FAILED ($((SECONDS - start)) s)"
  fi
done

echo
for name in "${skipped[@]}"; do echo "skipped: $name (switched off in the environment)"; done
for name in "${failed[@]}"; do echo "failed: $name (run hack/$name.sh)"; done
echo "verify: $passed passed, ${#failed[@]} failed, ${#skipped[@]} skipped in $((SECONDS - begun)) s"
[ ${#failed[@]} -eq 0 ]
