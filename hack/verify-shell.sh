#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Every shell script parses.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
while IFS= read -r file; do
  bash -n "$file" || failed=1
done < <(git ls-files --cached --others --exclude-standard -- "*.sh" .ci/run)
exit "$failed"
