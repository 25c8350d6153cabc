#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Every shell script parses and begins with the license header. (golangci-lint checks that of Go files.)

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
while IFS= read -r file; do
  bash -n "$file" || failed=1
  if ! head -n 5 "$file" | grep -qx "# SPDX-License-Identifier: Apache-2.0"; then
    echo "$file: no license header (see hack/boilerplate.go.txt)"
    failed=1
  fi
done < <(git ls-files --cached --others --exclude-standard -- "*.sh" .ci/run)
exit "$failed"
