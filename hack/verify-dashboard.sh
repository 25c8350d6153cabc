#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# The dashboard is as Grafana's schema wants it, asks for metrics and labels that the programs have, and every query of it has an
# answer in a simulated year: the query engine of Prometheus, pinned in hack/tools/prometheus. What the tests read is outside of
# their module, so no result is kept. make test-all vets them: with empty caches that takes minutes, as it vets what they import.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go -C hack/tools/prometheus test -vet=off -count=1 ./dashboard
