#!/usr/bin/env bash

# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails when the generated code is not what hack/update-codegen.sh would make of the API types now. Works on a copy: the
# tree is never changed, and the copy is removed on every exit.

set -o errexit
set -o nounset
set -o pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
COPY="$(mktemp -d "${TMPDIR:-/tmp}/certrotation-codegen.XXXXXX")"
trap 'rm -rf "${COPY}"' EXIT

mkdir -p "${COPY}/hack"
cp "${ROOT}/go.mod" "${ROOT}/go.sum" "${COPY}/"
cp "${ROOT}/hack/boilerplate.go.txt" "${COPY}/hack/"
cp -R "${ROOT}/apis" "${COPY}/apis"
# generated/ and manifests/crds are not copied, so that a file that is no longer generated shows up as a difference.

CODEGEN_ROOT="${COPY}" "${ROOT}/hack/update-codegen.sh"

failed=0
for dir in apis generated manifests/crds manifests/components/prometheus-operator/rules.yaml; do
    diff -Naupr --exclude=kustomization.yaml "${ROOT}/${dir}" "${COPY}/${dir}" || failed=1
done
if [[ "${failed}" -ne 0 ]]; then
    echo "Generated code is out of date. Run hack/update-codegen.sh and commit the result." >&2
    exit 1
fi
echo "Generated code is up to date."
