#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds pinned tools from Go modules, a group with one go build, and links them into bin/tools:
#
#   hack/build-tools.sh                  control-plane and gotestsum
#   hack/build-tools.sh GROUP...         GROUP is one of:
#     control-plane                      etcd, kube-apiserver, kube-controller-manager, kubectl
#     static-pods                        what package test/cluster/nodes runs: kubelet, containerd (runc: hack/install-packages.sh)
#     nodes                              the same, and kube-scheduler, kubeadm, etcdutl, helm
#     kubernetes-1.34                    an older Kubernetes (hack/tools/kubernetes-1.34), into bin/tools/kubernetes-1.34
#     cert-manager                       controllers of cert-manager for a CA issuer, and their CustomResourceDefinitions
#     gotestsum                          what runs the tests
#     lint                               golangci-lint, deadcode
#     helm, kube-score, govulncheck, krew
#
# What was built is kept in the user's cache directory, by a fingerprint of its inputs (module files, own sources, flags, Go version):
# another clone links it in seconds. Delete ~/.cache/certrotation/tools to build everything again. One invocation builds at a time; another
# waits for it at most TOOLS_WAIT (1800) seconds.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly cache="${XDG_CACHE_HOME:-$HOME/.cache}/certrotation/tools"
readonly wait_seconds="${TOOLS_WAIT:-1800}"

# required MODULE DEPENDENCY prints the version that go.mod requires.
required() {
  go -C "$1" list -m -f '{{.Version}}' "$2"
}

# Without these a module build of Kubernetes reports v0.0.0-master, and its compatibility checks misbehave.
kubernetes_flags() {
  local version="$1" minor package
  minor="${version#v*.}"
  minor="${minor%%.*}"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- '-X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s ' "$package" "$version" "$package" "$package" "$minor"
    printf -- '-X %s.gitTreeState=clean -X %s.gitCommit=unknown -X %s.buildDate=1970-01-01T00:00:00Z ' "$package" "$package" "$package"
  done
}

# describe GROUP sets module, packages, tags and flags (for the linker), and definitions: a module that it requires, and those of its files
# that become GROUP-definitions.yaml.
describe() {
  local kubernetes=k8s.io/kubernetes/cmd
  module="hack/tools/$1"
  definitions=()
  tags=""
  flags=""
  case "$1" in
    control-plane) module=hack/tools packages=(./etcd "$kubernetes"/kube-{apiserver,controller-manager} "$kubernetes/kubectl") ;;
    kubelet) module=hack/tools packages=("$kubernetes/kubelet") ;;
    nodes-kubernetes) module=hack/tools packages=("$kubernetes"/{kube-scheduler,kubeadm} go.etcd.io/etcd/etcdutl/v3) ;;
    containerd)
      module=hack/tools/node
      packages=(./nodeinit ./pause github.com/containerd/containerd/v2/cmd/{containerd,containerd-shim-runc-v2,ctr}
        github.com/containernetworking/plugins/plugins/{main/bridge,ipam/host-local})
      # Nodes of tests need no snapshots but overlayfs, no plugins and no traces.
      tags=no_btrfs,no_devmapper,no_zfs,no_tracing,nri_no_wasm
      flags="-X github.com/containerd/containerd/v2/version.Version=$(required "$module" github.com/containerd/containerd/v2)"
      ;;
    kubernetes-*) packages=("$kubernetes"/{kube-apiserver,kube-controller-manager,kube-scheduler,kubelet,kubectl}) ;;
    cert-manager)
      packages=(./)
      definitions=(github.com/cert-manager/cert-manager 'deploy/crds/cert-manager.io_*.yaml')
      ;;
    gotestsum) packages=(gotest.tools/gotestsum) ;;
    lint)
      packages=(github.com/golangci/golangci-lint/v2/cmd/golangci-lint golang.org/x/tools/cmd/deadcode)
      flags="-X main.version=$(required "$module" github.com/golangci/golangci-lint/v2)"
      ;;
    helm) packages=(helm.sh/helm/v4/cmd/helm) ;;
    kube-score) packages=(github.com/zegl/kube-score/cmd/kube-score) ;;
    govulncheck) packages=(golang.org/x/vuln/cmd/govulncheck) ;;
    krew) packages=(sigs.k8s.io/krew/cmd/krew) ;;
  esac
  if [ ! -f "$module/go.mod" ]; then
    echo "hack/build-tools.sh: unknown group \"$1\"; see the head of this script" >&2
    exit 2
  fi
  case "$1" in
    control-plane | kubelet | nodes-kubernetes | kubernetes-*) flags="$(kubernetes_flags "$(required "$module" k8s.io/kubernetes)")" ;;
  esac
}

fingerprint() {
  local package
  {
    cat "$module/go.mod" "$module/go.sum"
    for package in "${packages[@]}"; do
      case "$package" in ./*) cat "$module/$package"/*.go ;; esac
    done
    echo "${packages[*]} $tags $flags"
    [ ${#definitions[@]} = 0 ] || echo "${definitions[*]}"
    go env GOVERSION GOOS GOARCH
  } | sha256sum | cut -c-32
}

# build GROUP makes $built, the group's directory in the cache, unless it is there.
build() {
  local start=$SECONDS
  built="$cache/$1-$(fingerprint)"
  if [ -d "$built" ]; then
    return
  fi
  echo "$1: building (minutes when the build cache is cold) ..."
  # Built beside its place and renamed into it, so that a directory in the cache is always whole.
  rm -rf "$cache/.new"
  mkdir "$cache/.new"
  # The lock's descriptor is not inherited: a build left over from a killed invocation would hold it.
  # Compilers that collect garbage less often need a sixth less CPU time. The limit bounds the memory that each takes for it.
  if ! GOGC=400 GOMEMLIMIT=2GiB CGO_ENABLED=0 go build -C "$module" -trimpath -buildvcs=false -tags "$tags" -ldflags "-s -w $flags" -o "$cache/.new/" "${packages[@]}" 9>&-; then
    echo "hack/build-tools.sh: the group $1 does not build (see above); mend $module and run hack/build-tools.sh $1 again" >&2
    exit 1
  fi
  if [ ${#definitions[@]} -gt 0 ]; then
    cat "$(go -C "$module" list -m -f '{{.Dir}}' "${definitions[0]}")"/${definitions[1]} >"$cache/.new/$1-definitions.yaml"
  fi
  mv "$cache/.new" "$built"
  echo "$1: built in $((SECONDS - start)) s"
}

# link GROUP puts the programs of $built into bin/tools, where a running one may be replaced, but not written to.
link() {
  local out=bin/tools program name
  case "$1" in kubernetes-*) out="bin/tools/$1" ;; esac
  mkdir -p "$out"
  for program in "$built"/*; do
    name="$(basename "$program")"
    if [ ! "$out/$name" -ef "$program" ]; then
      ln -f "$program" "$out/$name" 2>/dev/null || { cp "$program" "$out/.$name.new" && mv -f "$out/.$name.new" "$out/$name"; }
    fi
  done
  echo "$1: up to date in $out"
}

mkdir -p "$cache"
exec 9>"$cache/.lock"
if ! flock --nonblock 9; then
  echo "another build of tools is running on this machine; waiting for it, at most $wait_seconds s"
  if ! flock --wait "$wait_seconds" 9; then
    echo "hack/build-tools.sh: another build has held $cache/.lock for $wait_seconds s (fuser $cache/.lock says which); end it and run this again" >&2
    exit 1
  fi
fi

groups=()
[ $# -gt 0 ] || groups=(control-plane gotestsum)
for group in "$@"; do
  case "$group" in
    static-pods) groups+=(kubelet containerd) ;;
    nodes) groups+=(kubelet containerd nodes-kubernetes helm) ;;
    *) groups+=("$group") ;;
  esac
done
for group in "${groups[@]}"; do
  describe "$group"
  build "$group"
  link "$group"
done
