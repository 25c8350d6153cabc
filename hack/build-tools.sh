#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds the pinned tools from Go modules into bin/tools/:
#
#   hack/build-tools.sh                  the control plane: etcd, kube-apiserver, kube-controller-manager, kubectl
#   hack/build-tools.sh nodes            what package test/cluster/nodes runs: kubelet, containerd and its shim, ctr, the
#                                        plugins of the pod network, pause, nodeinit (runc: hack/install-runc.sh);
#                                        and the kube-scheduler of package test/cluster/workernodes, kubeadm, helm and etcdutl
#   hack/build-tools.sh kubernetes-1.34  an older Kubernetes, as far as it is run (hack/tools/kubernetes-1.34): kube-apiserver,
#                                        kube-controller-manager, kube-scheduler, kubelet, kubectl, into bin/tools/kubernetes-1.34
#   hack/build-tools.sh kubernetes-1.34/kube-apiserver
#                                        one program of it
#   hack/build-tools.sh golangci-lint deadcode kube-score govulncheck krew
#                                        what checks the code (hack/tools/lint), what looks for faults of manifests and for
#                                        vulnerabilities, and what installs a plugin (each with a module of its name)
#
# A tool whose inputs (module files, flags, Go version) are those of its stamp is skipped. Invocations may run at the
# same time: one builds, the others wait for it and then find everything up to date.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly out="$PWD/bin/tools"
readonly control_plane=(etcd kube-apiserver kube-controller-manager kubectl)
readonly nodes=(nodeinit pause cni-bridge cni-host-local ctr containerd-shim-runc-v2 containerd kubelet kube-scheduler kubeadm helm etcdutl)
readonly older=(kube-apiserver kube-controller-manager kubectl kubelet kube-scheduler)
containerd="$(sed -n 's|^[[:space:]]*github.com/containerd/containerd/v2 v\([0-9.]*\)$|\1|p' hack/tools/node/go.mod)"
lint="$(sed -n 's|^[[:space:]]*github.com/golangci/golangci-lint/v2 v\([0-9.]*\).*|\1|p' hack/tools/lint/go.mod)"

# Without these a module build of Kubernetes reports v0.0.0-master, and its compatibility checks misbehave.
# The text is exactly this so that the build cache of an earlier build is found again. The one place of a version is the
# go.mod of its module.
version_flags() {
  local package kubernetes minor
  kubernetes="$(sed -n 's|^\(require\)\{0,1\}[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\)$|\2|p' "$module/go.mod")"
  minor="${kubernetes#v*.}"
  minor="${minor%%.*}"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- '-X %s.gitVersion=%s ' "$package" "$kubernetes"
    printf -- '-X %s.gitMajor=1 -X %s.gitMinor=%s ' "$package" "$package" "$minor"
    printf -- '-X %s.gitTreeState=clean -X %s.gitCommit=unknown ' "$package" "$package"
    printf -- '-X %s.buildDate=1970-01-01T00:00:00Z ' "$package"
  done
}

unknown() {
  echo "hack/build-tools.sh: unknown tool \"$1\" (known: ${control_plane[*]} ${nodes[*]} golangci-lint deadcode kube-score govulncheck krew" \
    "$(cd hack/tools && echo kubernetes-*), and of these ${older[*]})" >&2
  exit 2
}

# describe TOOL sets module, package and ldflags.
describe() {
  module=hack/tools
  ldflags=""
  case "$1" in
    kubernetes-*/*)
      module="hack/tools/${1%%/*}"
      package="k8s.io/kubernetes/cmd/${1##*/}"
      if [ ! -f "$module/go.mod" ] || [[ " ${older[*]} " != *" ${1##*/} "* ]]; then
        unknown "$1"
      fi
      ldflags="$(version_flags)"
      ldflags="${ldflags% }"
      ;;
    etcd) package=./etcd ;;
    etcdutl) package=go.etcd.io/etcd/etcdutl/v3 ;;
    kube-apiserver | kube-controller-manager | kube-scheduler | kubectl | kubelet | kubeadm)
      package="k8s.io/kubernetes/cmd/$1"
      ldflags="$(version_flags)"
      ldflags="${ldflags% }"
      ;;
    containerd | containerd-shim-runc-v2 | ctr)
      module=hack/tools/node
      package="github.com/containerd/containerd/v2/cmd/$1"
      ldflags="-X github.com/containerd/containerd/v2/version.Version=v$containerd"
      ;;
    # A plugin is found by the name of its program, so these need no directory of their own.
    cni-bridge) module=hack/tools/node package=github.com/containernetworking/plugins/plugins/main/bridge ;;
    cni-host-local) module=hack/tools/node package=github.com/containernetworking/plugins/plugins/ipam/host-local ;;
    pause | nodeinit) module=hack/tools/node package="./$1" ;;
    golangci-lint)
      module=hack/tools/lint
      package=github.com/golangci/golangci-lint/v2/cmd/golangci-lint
      ldflags="-X main.version=$lint"
      ;;
    helm) module=hack/tools/helm package=helm.sh/helm/v4/cmd/helm ;;
    kube-score) module=hack/tools/kube-score package=github.com/zegl/kube-score/cmd/kube-score ;;
    govulncheck) module=hack/tools/govulncheck package=golang.org/x/vuln/cmd/govulncheck ;;
    krew) module=hack/tools/krew package=sigs.k8s.io/krew/cmd/krew ;;
    deadcode) module=hack/tools/lint package=golang.org/x/tools/cmd/deadcode ;;
    *) unknown "$1" ;;
  esac
}

fingerprint() {
  {
    cat "$module/go.mod" "$module/go.sum"
    case "$package" in ./*) cat "$module/$package"/*.go ;; esac
    echo "$package $ldflags trimpath cgo=0"
    go env GOVERSION GOOS GOARCH
  } | sha256sum | cut -d' ' -f1
}

mkdir -p "$out"
exec 9>"$out/.lock"
if ! flock --nonblock 9; then
  echo "another build of the tools is running; waiting for it"
  flock 9
fi

tools=()
[ $# -gt 0 ] || tools=("${control_plane[@]}")
for tool in "$@"; do
  case "$tool" in
    nodes) tools+=("${nodes[@]}") ;;
    kubernetes-*/*) tools+=("$tool") ;;
    kubernetes-*) tools+=("${older[@]/#/$tool/}") ;;
    *) tools+=("$tool") ;;
  esac
done
log="$out/.build.log"
number=0
for tool in "${tools[@]}"; do
  number=$((number + 1))
  describe "$tool"
  dir="$(dirname "$out/$tool")"
  stamp="$dir/.${tool##*/}.stamp"
  want="$(fingerprint)"
  if [ -x "$out/$tool" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; then
    echo "[$number/${#tools[@]}] $tool is up to date"
    continue
  fi
  printf '[%d/%d] %s ... (minutes when the build cache is cold) ' "$number" "${#tools[@]}" "$tool"
  SECONDS=0
  mkdir -p "$dir"
  # Built beside its place and renamed into it: a program that runs or starts meanwhile sees a whole file. The lock's
  # descriptor is not inherited, or a build left over from a killed invocation would hold it.
  if ! CGO_ENABLED=0 go build -C "$module" -trimpath -ldflags "$ldflags" -o "$dir/.${tool##*/}.new" "$package" >"$log" 2>&1 9>&-; then
    echo "failed after $SECONDS s"
    cat "$log" >&2
    echo "hack/build-tools.sh: go build of $tool failed (the output is above and in $log); fix it and run hack/build-tools.sh $tool again" >&2
    exit 1
  fi
  mv -f "$dir/.${tool##*/}.new" "$out/$tool"
  echo "$want" >"$stamp"
  echo "$SECONDS s"
done
rm -f "$log"
