#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# golangci-lint (pinned in hack/tools/lint, configured in .golangci.yml) finds nothing.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

hack/build-tools.sh lint
bin/tools/golangci-lint run ./...
