#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# The Helm chart makes the objects of the overlays (hack/chart), and is as helm wants it.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

hack/build-tools.sh helm
# The links from the chart to the manifests are told of each time.
if ! said="$(bin/tools/helm lint --strict manifests/chart 2>&1)"; then
  echo "$said" >&2
  exit 1
fi
go run ./hack/chart
