#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

#   hack/install-packages.sh PROGRAM=PACKAGE...
#
# installs the Debian packages of programs that are missing: those that tests run and that are no Go modules without cgo. runc starts the
# containers of real nodes (test/cluster/nodes), test/verifiers asks the verifiers, and test/browser looks with Chromium. What is there is
# left as it is. PROGRAM is the path of a file if the package has no program.

set -o errexit -o nounset -o pipefail

missing=()
for each in "$@"; do
  if command -v "${each%%=*}" >/dev/null || [ -e "${each%%=*}" ]; then
    echo "${each%%=*} is installed: $(command -v "${each%%=*}" || true)"
  else
    missing+=("${each#*=}")
  fi
done
[ ${#missing[@]} -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "hack/install-packages.sh: ${missing[*]} are missing and there is no apt-get; install them with this system's packages" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "hack/install-packages.sh: ${missing[*]} are missing and only root may install them: sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# The lists of a fresh image are empty, and those of an old one name packages that are gone.
if ! apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1; then
  apt-get update >/dev/null
  apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null
fi
echo "installed: ${missing[*]}"
