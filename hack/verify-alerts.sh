#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# The alerts fire when manifests/alerts/tests says so, each is tested both ways, and none fires in a healthy year: the rules and the
# query engine of Prometheus, pinned in hack/tools/prometheus. What the tests read is outside of their module, so no result is kept.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go -C hack/tools/prometheus test -vet=off -count=1 -timeout 30m ./alerts
