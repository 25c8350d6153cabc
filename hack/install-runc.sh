#!/usr/bin/env bash
# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Installs runc, which containerd starts the containers of real nodes (test/cluster/nodes) with, from the Debian package.
# It is the one tool that is no Go module without cgo. A runc that is there is left as it is.

set -o errexit -o nounset -o pipefail

if command -v runc >/dev/null; then
  echo "runc is installed: $(runc --version | head -1)"
  exit 0
fi
if [ "$(uname -s)" != Linux ]; then
  echo "hack/install-runc.sh: real nodes need Linux; this is $(uname -s)" >&2
  exit 1
fi
if ! command -v apt-get >/dev/null; then
  echo "hack/install-runc.sh: runc is missing and there is no apt-get; install runc 1.1 or later with this system's packages" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "hack/install-runc.sh: runc is missing and only root may install it: sudo apt-get install runc" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# The lists of a fresh image are empty, and those of an old one name packages that are gone.
if ! apt-get install -y --no-install-recommends runc >/dev/null 2>&1; then
  apt-get update >/dev/null
  apt-get install -y --no-install-recommends runc >/dev/null
fi
echo "runc was installed: $(runc --version | head -1)"
