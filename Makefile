# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

SHELL := bash
.SHELLFLAGS := -o errexit -o nounset -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# How long `make soak` searches.
TIME ?= 10m
# How far, and from where, `make simulate` searches.
STEPS ?= 2000000
STORIES ?= 2000
SEED ?=

# The tests of test/e2e/pods that follow docs/install.md: with kubectl, a first PKI, uninstall, with Helm.
REHEARSAL ?= ^Test(FirstPKI|Removed)$$

# Flags of `make bench`; BENCH=-h lists them.
BENCH ?=

# For what, and where, `make image` builds.
PLATFORMS ?= linux/amd64,linux/arm64
IMAGE ?= certrotation.dev/certrotation
IMAGE_DIR ?= bin/image
# Where the files of a release will be, for krew. The word VERSION in it is replaced.
DOWNLOAD_URL ?= https://certrotation.dev/releases/VERSION
# Where go finds the source of the module certrotation.dev.
REPOSITORY_URL ?= https://certrotation.dev/certrotation.git

# The older Kubernetes that hack/tools has modules of, and the oldest of them.
OLDER := $(shell cd hack/tools && echo kubernetes-* | tr ' ' '\n' | sort -V)
OLDEST := $(firstword $(OLDER))

# The version that is developed, or released: that of the newest entry of the changelog, and of nothing else.
RELEASE := $(shell sed -n 's/^\#\# \(v[^ ]*\).*/\1/p' CHANGELOG.md | head -n1)
# A semantic version, as the Kubernetes libraries insist on one.
VERSION := $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo $(RELEASE)-dev+$$(git describe --always --dirty 2>/dev/null || echo unknown))
COMMIT := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# The dates of a build are those of its commit: the same commit makes the same bytes.
DATE := $(shell TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null || echo 1970-01-01T00:00:00Z)
# All is built with the same flags, so that each dependency is compiled once.
export CGO_ENABLED ?= 0
ifeq (,$(findstring -trimpath,$(GOFLAGS)))
export GOFLAGS := $(shell go env GOFLAGS) -trimpath -buildvcs=false
endif

version_package := k8s.io/component-base/version
LDFLAGS = -X $(version_package).gitVersion=$(VERSION) -X $(version_package).gitCommit=$(COMMIT) -X $(version_package).buildDate=$(DATE)

.PHONY: help
help: ## List the targets.
	@echo 'usage: make TARGET'
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | while IFS=$$'\t' read -r target text; do printf '  %-18s %s\n' "$$target" "$$text"; done

##@ Build

.PHONY: build
build: ## Build the programs, those of the samples and of the tests, into bin.
	@go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/certrotation ./cmd/kubectl-certrotation ./manifests/samples/mtls-service ./manifests/samples/control-plane/control-plane-operator ./manifests/samples/etcd-nodes/metricsproxy ./test/cluster/supervisor/apiserver-supervisor ./test/cluster/workernodes/nameserver

.PHONY: image
image: ## Build the image of certrotation (IMAGE=REPOSITORY) into bin/image, for linux/amd64 and linux/arm64, with SBOMs; needs no container engine.
	@go run ./hack/image --name='$(IMAGE)' --version='$(VERSION)' --commit='$(COMMIT)' --date='$(DATE)' --ldflags='-s -w $(LDFLAGS)' --platforms='$(PLATFORMS)' --output-dir='$(IMAGE_DIR)'

.PHONY: release
release: VERSION = $(RELEASE)
release: ## Write all that is published of VERSION (that of CHANGELOG.md) into dist: programs, plugin, image, chart, manifests, SBOMs, notes, checksums.
	@hack/build-tools.sh helm krew
	@go run ./hack/release --version='$(VERSION)' --commit='$(COMMIT)' --date='$(DATE)' --ldflags='-s -w $(LDFLAGS)' --download-url='$(DOWNLOAD_URL)' --repository-url='$(REPOSITORY_URL)'
	@go run ./hack/chart --chart=dist/certrotation-$(VERSION:v%=%).tgz --digest="$$(cat bin/image/digest)"

.PHONY: local-image
local-image:
	@$(MAKE) image PLATFORMS=linux/$$(go env GOARCH) IMAGE_DIR=bin/image-local

.PHONY: tools
tools: ## Link etcd, kube-apiserver, kube-controller-manager, kubectl and gotestsum into bin/tools; builds them once a machine (minutes).
	@hack/build-tools.sh

.PHONY: node-tools
node-tools: tools ## The same with kubelet, containerd and what else real nodes need; installs runc.
	@hack/build-tools.sh nodes
	@hack/install-packages.sh runc=runc

##@ Run

.PHONY: up
up: tools $(if $(SAMPLE),node-tools local-image) build ## Start a control plane, certrotation and the samples under .local (no root needed); SAMPLE=etcd, pods or control-plane: etcd, or the sample, on three nodes (root).
	@go run ./test/cluster/localup up $(SAMPLE)

.PHONY: down
down: ## Stop what `make up` started and remove its data.
	@go run ./test/cluster/localup down

##@ Test

# The programs of test builds have one version, so that a commit alone changes none of them, and no test that runs them.
test test-rotation test-nodes test-all test-versions: VERSION := $(RELEASE)-dev
test test-rotation test-nodes test-all test-versions: COMMIT := unknown
test test-rotation test-nodes test-all test-versions: DATE := 1970-01-01T00:00:00Z

.PHONY: test
test: tools build ## The gate's tests: all packages without a control plane, then one pass over a real one (15 minutes, no root).
	@hack/build-tools.sh cert-manager
	@hack/install-packages.sh haproxy=haproxy
	@hack/test.sh units planes short-planes

.PHONY: test-rotation
test-rotation: tools build ## One rotation of etcd on three real nodes, as the gate runs it (root).
	@hack/build-tools.sh static-pods
	@hack/install-packages.sh runc=runc
	@hack/test.sh rotation

.PHONY: test-nodes
test-nodes: node-tools build local-image ## All tests on real nodes but the one above and attacks on pods, alone on the machine (40 minutes, root).
	@hack/test.sh nodes

.PHONY: test-all
test-all: node-tools build local-image ## All tests: every write interrupted, every rule left out once, attacks on pods, and the two above (90 minutes, root).
	@hack/build-tools.sh cert-manager $(OLDEST)
	@hack/install-packages.sh openssl=openssl certtool=gnutls-bin certutil=libnss3-tools javac=default-jdk-headless chromium=chromium \
		nginx=nginx-light haproxy=haproxy gcc=gcc /usr/include/stdio.h=libc6-dev \
		/usr/include/android/openssl/is_boringssl.h=android-libboringssl-dev
	@go -C hack/tools/prometheus vet ./...
	@hack/test.sh units planes short-planes extended rotation nodes claims

.PHONY: soak
soak: ## Search for TIME (10m) with fresh seeds: simulator, properties, fuzz targets, race detector; prints how to repeat what it finds.
	@hack/soak.sh '$(TIME)'

.PHONY: gate
gate: ## Run .ci/run in a fresh clone of HEAD, as continuous integration does; keeps a record in ~/.cache/certrotation/gate.
	@clone="$$(mktemp -d)" && trap 'rm -rf "$$clone"' EXIT && git clone --quiet . "$$clone" && bash "$$clone/.ci/run"

.PHONY: test-versions
test-versions: test-newest test-older test-oldest-nodes ## Run the tests on a control plane with the newest Kubernetes, test/versions on each older one, and the rehearsal of docs/install.md on nodes of the oldest (root).

.PHONY: test-newest
test-newest: tools build
	@hack/build-tools.sh cert-manager
	@hack/test.sh planes

.PHONY: test-older
test-older: tools build
	@for version in $(OLDER); do \
		hack/build-tools.sh $$version; \
		echo "== $$version"; \
		CERTROTATION_KUBERNETES=$${version#kubernetes-} go test -count=1 ./test/versions; \
	done

.PHONY: test-oldest-nodes
test-oldest-nodes: node-tools build local-image
	@hack/build-tools.sh $(OLDEST)
	@CERTROTATION_KUBERNETES=$(OLDEST:kubernetes-%=%) go test -count=1 -timeout 30m -run '$(REHEARSAL)' ./test/e2e/pods

.PHONY: simulate
simulate: ## Search STEPS (2000000) steps, and STORIES (2000) of nodes, for an order of events that breaks them, from a fresh SEED.
	@seed='$(SEED)'; export SEED="$${seed:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"; \
	echo "to repeat this search: make simulate SEED=$$SEED STEPS=$(STEPS) STORIES=$(STORIES)"; \
	STEPS=$(STEPS) go test -count=1 -v -timeout 0 -run '^TestSimulation$$' ./test/simulation && \
	go test -count=1 -timeout 0 -run '^TestSimulation$$' ./controller/rollout/staticpod -rapid.checks=$(STORIES)

.PHONY: bench
bench: tools build ## Run the benchmarks; prints the tables of docs/benchmarks.md. BENCH has flags, such as -sections=view.
	@hack/bench.sh $(BENCH)

# A year is drawn as somebody sees it who looks at a year, and the hours of a rotation of an etcd as its operator sees them.
.PHONY: dashboard
dashboard: ## Draw the dashboard over a simulated year, and over a rotation of it, into .local/dashboard.png and .local/dashboard-rotation.png (minutes).
	@mkdir -p .local
	@draw() { go -C hack/tools/prometheus run ./picture -dashboard '$(CURDIR)/manifests/dashboard/certrotation.json' "$$@"; }; \
	draw -output '$(CURDIR)/.local/dashboard-rotation.png' -from 2026-06-01T08:30:00Z -for 4h; \
	draw -output '$(CURDIR)/.local/dashboard.png'

.PHONY: pictures
pictures: VERSION := $(RELEASE)
pictures: dashboard ## Make the pictures of docs/images: the dashboard, and the report as Chromium shows it (minutes).
	@hack/install-packages.sh chromium=chromium pngquant=pngquant
	@go test -count=1 -ldflags '$(LDFLAGS)' -run='^TestExtendedPicture$$' ./test/browser -args -picture='$(CURDIR)/.local/report.png'
	@mkdir -p docs/images
	@for name in dashboard report; do \
		pngquant --force --strip --speed=1 --nofs --output "docs/images/$$name.png" 64 ".local/$$name.png"; \
	done

##@ Change

.PHONY: generate
generate: ## Write the generated code anew.
	@hack/update-codegen.sh

.PHONY: verify
verify: ## Run every check of hack/verify-*.sh; ends with a summary.
	@hack/verify-all.sh

.PHONY: lint
lint: ## Run golangci-lint.
	@hack/verify-lint.sh

.PHONY: clean
clean: ## Remove what was built, but not the tools (those are bin/tools) and not .local (that is make down).
	rm -f bin/certrotation bin/kubectl-certrotation bin/mtls-service bin/apiserver-supervisor bin/nameserver bin/metricsproxy bin/bench
	rm -rf dist bin/image bin/image-local bin/vulnerabilities
