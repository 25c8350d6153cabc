#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# gotestsum runs this at the end of hack/test.sh, with the counts in the environment. What it refuses fails the run.

set -o errexit -o nounset -o pipefail

if [ "$TESTS_TOTAL" -eq 0 ]; then
  echo "no test ran: the packages and flags choose none" >&2
  exit 1
fi
if [ "${CI:-}" = true ] && [ "$TESTS_SKIPPED" -gt 0 ]; then
  echo "$TESTS_SKIPPED tests were skipped (listed above, with reasons): with CI=true that is a failure" >&2
  exit 1
fi
