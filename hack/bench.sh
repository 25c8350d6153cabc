#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the benchmarks of test/bench with the given flags (-h lists them), prints Markdown tables, and keeps them with every
# sample in .local/bench. It needs `make tools build`.
#
# The section borders compares with the revision FORMER of the environment, by default ae502b1, the last one without the borders
# of docs/security.md. It is built from the history of this checkout into .local/bench/former; without it, the section measures
# the present build alone.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

FORMER="${FORMER:-ae502b1}"
former="$PWD/.local/bench/former"
worktree="$PWD/.local/bench/former-worktree"

remove_worktree() {
  [ ! -e "$worktree" ] || git worktree remove --force "$worktree"
}

# needs_former says whether the section borders is among those that the flags choose; without -sections all are.
needs_former() {
  local arg next=false
  for arg in "$@"; do
    case "$arg" in
      -h | -help | --help) return 1 ;;
      -former | -former=* | --former | --former=*) return 1 ;;
    esac
  done
  for arg in "$@"; do
    if [ "$next" = true ] || [[ "$arg" == -sections=* ]] || [[ "$arg" == --sections=* ]]; then
      [[ ",${arg#*=}," == *,borders,* ]]
      return
    fi
    case "$arg" in -sections | --sections) next=true ;; esac
  done
}

# build_former builds certrotation of the commit $1, and takes its manifests, unless that was done before.
build_former() {
  local commit="$1"
  if [ "$(cat "$former/REVISION" 2>/dev/null)" = "$commit" ]; then
    echo "bench: the former build of $FORMER is there" >&2
    return
  fi
  echo "bench: building certrotation of $FORMER" >&2
  rm -rf "$former"
  mkdir -p "$former/manifests"
  trap remove_worktree EXIT
  remove_worktree
  git worktree add --quiet --detach "$worktree" "$commit"
  # The flags of `make build`.
  (
    cd "$worktree"
    CGO_ENABLED=0 go build -trimpath -ldflags "-X k8s.io/component-base/version.gitVersion=v0.1.0-dev+$FORMER" -o "$former/" ./cmd/certrotation
  )
  cp -R "$worktree/manifests/base" "$worktree/manifests/crds" "$former/manifests/"
  remove_worktree
  trap - EXIT
  echo "$commit" >"$former/REVISION"
}

mkdir -p bin .local/bench
flags=("$@")
if needs_former "$@"; then
  if commit="$(git rev-parse --verify --quiet "$FORMER^{commit}")"; then
    build_former "$commit"
    flags=("-former=$former" "$@")
  else
    echo "bench: this checkout has no commit $FORMER to compare with (git fetch --unshallow gets the history of a shallow clone):" \
      "the section borders measures the present build alone" >&2
  fi
fi
# A program of its own rather than `go run`: an interrupt has to reach it, so that it stops its control plane.
go build -o bin/bench ./test/bench
bin/bench "${flags[@]}" | tee -i .local/bench/latest.md
