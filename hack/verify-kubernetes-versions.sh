#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Every k8s.io module that Kubernetes releases together is on one version: in the product and its generators, the one of the newest
# control plane that the tests run (hack/tools); in the module of an older one (hack/tools/kubernetes-MINOR), its own. The minor
# versions have no gap, and docs/install.md, the chart and the linter of manifests name the same ones.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version() { go -C "$1" list -m -f '{{.Version}}' k8s.io/kubernetes; }

# held MODULE OF says what of MODULE is not of the version of Kubernetes in OF. The modules that are released together are those
# that OF replaces.
held() {
  local want released
  want="$(version "$2" | sed 's/^v1[.]/v0./')"
  released="$(go -C "$2" mod edit -json | sed -n 's|.*"Path": "\(k8s.io/[^"]*\)".*|\1|p' | sort -u)"
  go -C "$1" list -m -f '{{.Path}} {{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}' all | awk -v want="$want" -v module="$1" '
    NR == FNR { released[$1] = 1; next }
    $1 in released && $1 != "k8s.io/kubernetes" && $1 != "k8s.io/klog/v2" && $1 != "k8s.io/utils" && $1 != "k8s.io/kube-openapi" && $1 != "k8s.io/gengo/v2" && $1 != "k8s.io/system-validators" {
      checked++
      if ($2 != want) { print module ": " $1 " is " $2 ", want " want; failed = 1 }
    }
    END {
      if (!checked) { print module ": found no k8s.io module to check"; failed = 1 }
      exit failed
    }' <(echo "$released") -
}

failed=0
complain() {
  echo "$1"
  failed=1
}

held . hack/tools || failed=1
held hack/tools/codegen hack/tools || failed=1
held hack/tools hack/tools || failed=1
versions=()
for module in $(dirname hack/tools/kubernetes-*/go.mod | sort -V); do
  held "$module" "$module" || failed=1
  versions+=("$(version "$module")")
  [[ "${versions[-1]}" == "v${module##*-}."* ]] || complain "$module: k8s.io/kubernetes is ${versions[-1]}"
done
versions+=("$(version hack/tools)")

minor() { cut -d. -f2 <<<"$1"; }
for ((i = 1; i < ${#versions[@]}; i++)); do
  [ "$(minor "${versions[i]}")" = $(($(minor "${versions[i - 1]}") + 1)) ] || complain "${versions[i]} does not follow ${versions[i - 1]}"
done

table="$(sed -n 's/^| \(1[.][0-9.]*\) |.*/v\1/p' docs/install.md | paste -sd ' ')"
[ "$table" = "${versions[*]}" ] || complain "docs/install.md has the versions $table, want ${versions[*]}"
oldest="1.$(minor "${versions[0]}")"
for place in "docs/install.md:needs Kubernetes $oldest or" "manifests/chart/Chart.yaml:kubeVersion: \">=$oldest.0-0\"" "hack/score/main.go:oldest = \"v$oldest\"" \
  "docs/install.md:client-go $(go list -m -f '{{.Version}}' k8s.io/client-go | sed 's/^v\(.*\)[.][0-9]*$/\1/')"; do
  grep -qF "${place#*:}" "${place%%:*}" || complain "${place%%:*} does not say \"${place#*:}\""
done
exit "$failed"
