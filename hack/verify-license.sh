#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Every Go and shell file begins with the license header of hack/boilerplate.go.txt (generated code too; behind #! in
# scripts, and with its comment sign).

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
while IFS= read -r file; do
  case "$file" in
    *.go) sign="//" ;;
    *) sign="#" ;;
  esac
  # Build constraints and #! may come first, so the first lines are searched; nothing else is in front of it.
  if ! head -n 5 "$file" | grep -qx "$sign Copyright The certrotation Authors." ||
    ! head -n 5 "$file" | grep -qx "$sign SPDX-License-Identifier: Apache-2.0"; then
    echo "$file: no license header (see hack/boilerplate.go.txt)"
    failed=1
  fi
done < <(git ls-files --cached --others --exclude-standard -- "*.go" "*.sh" .ci/run)
exit "$failed"
