#!/usr/bin/env bash

# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

# Regenerates everything that is derived from the API types: zz_generated.* beside the types, the clients and the
# OpenAPI definitions under generated/, and the CustomResourceDefinitions under manifests/crds; and the alerts as an object of the
# Prometheus operator. hack/tools/codegen/go.mod pins the generators.
#
# CODEGEN_ROOT  tree to generate in (default: this repository)
# CODEGEN_BIN   where the generators are built (default: bin/tools/codegen of this repository)

set -o errexit
set -o nounset
set -o pipefail

SCRIPT_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
ROOT="$(cd "${CODEGEN_ROOT:-${SCRIPT_ROOT}}" && pwd -P)"
MODULE="certrotation.dev"
BOILERPLATE="${ROOT}/hack/boilerplate.go.txt"

# kube_codegen.sh installs its generators into GOBIN; keep them out of the developer's own.
export GOBIN="${CODEGEN_BIN:-${SCRIPT_ROOT}/bin/tools/codegen}"
mkdir -p "${GOBIN}"

CODEGEN="${SCRIPT_ROOT}/hack/tools/codegen"

# `go list` knows no directory of a module before its download.
go -C "${CODEGEN}" mod download k8s.io/code-generator
# shellcheck source=/dev/null
source "$(go -C "${CODEGEN}" list -m -f '{{.Dir}}' k8s.io/code-generator)/kube_codegen.sh"

cd "${ROOT}"

kube::codegen::gen_helpers \
    --boilerplate "${BOILERPLATE}" \
    "${ROOT}/apis"

mkdir -p "${ROOT}/generated/openapi"
kube::codegen::gen_openapi \
    --output-dir "${ROOT}/generated/openapi" \
    --output-pkg "${MODULE}/generated/openapi" \
    --output-model-name-file zz_generated.model_name.go \
    --report-filename "${ROOT}/generated/openapi/violations.report" \
    --update-report \
    --boilerplate "${BOILERPLATE}" \
    "${ROOT}/apis"

# The script looks for former output in each of these, and complains when one is missing.
mkdir -p "${ROOT}"/generated/{applyconfiguration,clientset,informers,listers}
kube::codegen::gen_client \
    --with-watch \
    --with-applyconfig \
    --output-dir "${ROOT}/generated" \
    --output-pkg "${MODULE}/generated" \
    --boilerplate "${BOILERPLATE}" \
    "${ROOT}/apis"

go build -C "${CODEGEN}" -o "${GOBIN}/controller-gen" sigs.k8s.io/controller-tools/cmd/controller-gen
mkdir -p "${ROOT}/manifests/crds"
"${GOBIN}/controller-gen" crd "paths=${ROOT}/apis/config/v1alpha1" "output:crd:dir=${ROOT}/manifests/crds"

mkdir -p "${ROOT}/manifests/components/prometheus-operator"
cat - <(sed '/^#/d; s/^/  /' "${SCRIPT_ROOT}/manifests/alerts/rules.yaml") >"${ROOT}/manifests/components/prometheus-operator/rules.yaml" <<'EOF'
# Made of ../../alerts/rules.yaml by hack/update-codegen.sh.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: certrotation
  namespace: certrotation-system
  labels: {app.kubernetes.io/name: certrotation}
spec:
EOF
