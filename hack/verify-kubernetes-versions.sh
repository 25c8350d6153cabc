#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Every k8s.io module that Kubernetes releases together is on one version, and the control plane that the tests run
# (hack/tools) is of the same minor and patch release.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The modules that are released together are those that hack/tools replaces.
released="$(go -C hack/tools mod edit -json | sed -n 's|.*"Path": "\(k8s.io/[^"]*\)".*|\1|p' | sort -u)"
want="$(go -C hack/tools list -m -f '{{.Version}}' k8s.io/kubernetes | sed 's/^v1[.]/v0./')"
for module in . hack/tools; do
  go -C "$module" list -m -f '{{.Path}} {{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}' all
done | awk -v want="$want" '
  NR == FNR { released[$1] = 1; next }
  $1 in released && $1 != "k8s.io/kubernetes" && $1 != "k8s.io/klog/v2" && $1 != "k8s.io/utils" && $1 != "k8s.io/kube-openapi" && $1 != "k8s.io/gengo/v2" {
    checked++
    if ($2 != want) { print $1 " is " $2 ", want " want; failed = 1 }
  }
  END {
    if (!checked) { print "found no k8s.io module to check"; failed = 1 }
    exit failed
  }' <(echo "$released") -
