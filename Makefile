# Copyright The certrotation Authors.
# SPDX-License-Identifier: Apache-2.0

SHELL := bash
.SHELLFLAGS := -o errexit -o nounset -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The time that `make fuzz` gives each target.
TIME ?= 30s
# How long, and from where, `make simulate` searches.
STEPS ?= 2000000
STORIES ?= 2000
SEED ?=
# What `make simulate` runs of the simulator.
SEARCHES ?= ^Test(Simulation|MutantsAreCaught|NoMutantIsNone)$$
# When go test gives up a search. It is for one that hangs: 0 is never.
SEARCH_TIMEOUT ?= 0

# The tests of test/e2e/pods that follow docs/install.md: with kubectl, a first PKI, uninstall, with Helm.
REHEARSAL ?= ^Test(FirstPKI|Removed)$$

# Flags of `make bench`; BENCH=-h lists them.
BENCH ?=
# The revision that its section borders compares with: the last one without the borders of docs/security.md.
FORMER ?= ae502b1

# For what, and where, `make image` builds.
PLATFORMS ?= linux/amd64,linux/arm64
IMAGE_DIR ?= bin/image
# Where the files of a release will be, for krew. The word VERSION in it is replaced.
DOWNLOAD_URL ?= https://certrotation.dev/releases/VERSION

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
version_package := k8s.io/component-base/version
LDFLAGS = -X $(version_package).gitVersion=$(VERSION) -X $(version_package).gitCommit=$(COMMIT) -X $(version_package).buildDate=$(DATE)

.PHONY: help
help: ## List the targets.
	@echo 'usage: make TARGET'
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | while IFS=$$'\t' read -r target text; do printf '  %-18s %s\n' "$$target" "$$text"; done

##@ Build

.PHONY: build
build: ## Build the programs, those of the samples and of the tests, and the image for this machine, into bin.
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/certrotation ./cmd/kubectl-certrotation ./manifests/samples/mtls-service ./manifests/samples/etcd-nodes/metricsproxy ./test/cluster/supervisor/apiserver-supervisor ./test/cluster/workernodes/nameserver
	@$(MAKE) image PLATFORMS=linux/$$(go env GOARCH) IMAGE_DIR=bin/image-local

.PHONY: image
image: ## Build the image of certrotation into bin/image, for linux/amd64 and linux/arm64, with SBOMs; needs no container engine.
	@go run ./hack/image --version='$(VERSION)' --commit='$(COMMIT)' --date='$(DATE)' --ldflags='-s -w $(LDFLAGS)' --platforms='$(PLATFORMS)' --output-dir='$(IMAGE_DIR)'

.PHONY: release
release: VERSION = $(RELEASE)
release: ## Write all that is published of VERSION (that of CHANGELOG.md) into bin/release: programs, plugin, image, chart, manifests, SBOMs, notes, checksums.
	@hack/build-tools.sh helm krew
	@go run ./hack/release --version='$(VERSION)' --commit='$(COMMIT)' --date='$(DATE)' --ldflags='-s -w $(LDFLAGS)' --download-url='$(DOWNLOAD_URL)'
	@go run ./hack/chart --chart=bin/release/certrotation-$(VERSION:v%=%).tgz --digest="$$(cat bin/image/digest)"

.PHONY: tools
tools: ## Build etcd, kube-apiserver, kube-controller-manager and kubectl into bin/tools (once; minutes).
	@hack/build-tools.sh

.PHONY: oldest-tools
oldest-tools: ## Build what `make test` runs of the oldest Kubernetes, into bin/tools/kubernetes-VERSION (once; minutes).
	@hack/build-tools.sh $(OLDEST)/kube-apiserver $(OLDEST)/kubectl

.PHONY: node-tools
node-tools: ## Build kubelet, containerd and what else real nodes need into bin/tools (once; minutes), install runc.
	@hack/build-tools.sh nodes
	@hack/install-runc.sh

.PHONY: lint-tools
lint-tools: ## Build golangci-lint, deadcode, kube-score and govulncheck into bin/tools (once; minutes).
	@hack/build-tools.sh golangci-lint deadcode kube-score govulncheck

##@ Run

.PHONY: up
up: tools $(if $(SAMPLE),node-tools) build ## Start a control plane, certrotation and the samples under .local (no root needed); SAMPLE=etcd or pods: etcd, or the sample, on three nodes (root).
	@go run ./test/cluster/localup up $(SAMPLE)

.PHONY: down
down: ## Stop what `make up` started and remove its data.
	@go run ./test/cluster/localup down

##@ Test

# Real nodes need Linux and root; without them the tests that use nodes say so, and are counted as skipped.
.PHONY: test-node-tools
test-node-tools:
	@if [ "$$(uname -s)" = Linux ] && [ "$$(id -u)" = 0 ]; then $(MAKE) node-tools; else echo 'no real nodes: they need Linux and root'; fi

.PHONY: test
test: tools oldest-tools test-node-tools build ## Run the unit, property and integration tests; ends with a summary.
	@hack/test.sh ./...

.PHONY: test-unit
test-unit: ## Run the tests that need no control plane.
	@hack/test.sh $$(go list ./... | grep -v '^certrotation.dev/test/')

.PHONY: test-integration
test-integration: tools oldest-tools test-node-tools build ## Run the tests on a real control plane.
	@hack/test.sh ./test/...

.PHONY: test-race
test-race: tools oldest-tools test-node-tools build ## Run all tests under the race detector.
	@hack/test.sh -race ./...

.PHONY: test-versions
test-versions: test-older test-oldest-nodes ## Run test/versions on each older Kubernetes, and the rehearsal of docs/install.md on nodes of the oldest (root).

.PHONY: test-older
test-older: tools build
	@for version in $(OLDER); do \
		hack/build-tools.sh $$version/kube-apiserver $$version/kubectl; \
		echo "== $$version"; \
		CERTROTATION_KUBERNETES=$${version#kubernetes-} hack/test.sh -count=1 ./test/versions; \
	done

.PHONY: test-oldest-nodes
test-oldest-nodes: tools test-node-tools build
	@if [ "$$(uname -s)" = Linux ] && [ "$$(id -u)" = 0 ]; then \
		hack/build-tools.sh $(OLDEST); \
		echo '== $(OLDEST), nodes'; \
		CERTROTATION_KUBERNETES=$(OLDEST:kubernetes-%=%) hack/test.sh -count=1 '-run=$(REHEARSAL)' ./test/e2e/pods; \
	fi

.PHONY: simulate
simulate: ## Search STEPS (2000000) steps, and STORIES (2000) of nodes, for an order of events that breaks them, and hunt the mutants; SEED repeats a search.
	@STEPS=$(STEPS) SEED=$(SEED) go test -count=1 -v -timeout $(SEARCH_TIMEOUT) -run '$(SEARCHES)' ./test/simulation
	@go test -count=1 -timeout $(SEARCH_TIMEOUT) -run '^TestSimulation$$' ./controller/rollout/staticpod -rapid.checks=$(STORIES) -rapid.seed=$(or $(SEED),$$(date +%s))

# `make test` always plays the same stories, so that it fails for what changed. This search is bounded by steps and not by
# time, so that a repetition comes to the same end; two idle cores take less than a minute.
.PHONY: simulate-fresh
simulate-fresh: ## Search a short time from a new seed, as CI does after make test; prints the seed and how to repeat it.
	@search="simulate SEED=$$(date +%s) STEPS=40000 STORIES=100"; \
	echo "to repeat this search: make $$search"; \
	$(MAKE) $$search SEARCH_TIMEOUT=10m SEARCHES='^TestSimulation$$' || { echo "the search failed; to repeat it: make $$search"; exit 1; }

.PHONY: fuzz
fuzz: ## Run every fuzz target for TIME (30s) each.
	@hack/fuzz.sh $(TIME)

.PHONY: bench
bench: tools build ## Run the benchmarks; prints the tables of docs/benchmarks.md. BENCH has flags, such as -sections=view.
	@FORMER=$(FORMER) hack/bench.sh $(BENCH)

# A year is drawn as somebody sees it who looks at a year, and the hours of a rotation of an etcd as its operator sees them.
.PHONY: dashboard
dashboard: ## Draw the dashboard over a simulated year, and over a rotation of it, into .local/dashboard.png and .local/dashboard-rotation.png (minutes).
	@mkdir -p .local
	@draw() { go -C hack/tools/prometheus run ./picture -dashboard '$(CURDIR)/manifests/dashboard/certrotation.json' "$$@"; }; \
	draw -output '$(CURDIR)/.local/dashboard-rotation.png' -from 2026-06-01T08:30:00Z -for 4h; \
	draw -output '$(CURDIR)/.local/dashboard.png'

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
	rm -f bin/certrotation bin/kubectl-certrotation bin/mtls-service bin/apiserver-supervisor bin/nameserver bin/testsummary bin/bench
	rm -rf bin/image bin/image-local bin/release bin/vulnerabilities
