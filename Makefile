# Every target works on a fresh checkout: it builds or installs what it needs.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := $(CURDIR)/bin
DEVCLUSTER := $(CURDIR)/.cache/devcluster/bin
PROGRESS := hack/tools/progress.sh

# The control plane's binaries: the caller's, or the ones built here.
ASSETS := $(if $(KUBEBUILDER_ASSETS),$(KUBEBUILDER_ASSETS),$(DEVCLUSTER))

FUZZTIME ?= 30s
TESTFUZZTIME ?= 10s
LONGFUZZTIME ?= 5m
BENCHTIME ?= 1s

# What reads a config: fuzzed by every test run, on one processor beside the other tests.
LANGUAGE := ./engine/lang/syntax:FuzzLex ./engine/lang/syntax:FuzzParse ./engine/lang:FuzzEvaluate

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Use

.PHONY: demo
demo: deps devcluster build ## Show the operator at work in a real cluster; KEEP=1 leaves it up.
	@go build -o $(BIN)/demo ./hack/demo
	@exec env KUBEBUILDER_ASSETS='$(ASSETS)' KEEP='$(KEEP)' $(BIN)/demo

.PHONY: test
test: deps devcluster $(BIN)/testcount ## Run every test, the vectors, and fuzz the language for TESTFUZZTIME (10s) a target; the last line counts.
	@KUBEBUILDER_ASSETS='$(ASSETS)' $(BIN)/testcount -beside 'FUZZPROCS=1 hack/tools/fuzz.sh $(TESTFUZZTIME) $(LANGUAGE)' \
		-and 'go run ./hack/conformance' -- -timeout 9m ./...

.PHONY: build
build: ## Build bin/manager and bin/atlantide.
	@$(PROGRESS) "building bin/manager and bin/atlantide" \
		go build -o $(BIN)/ ./cmd/manager ./cmd/atlantide  # no flags of its own: tests share the build cache

##@ Check

.PHONY: conformance
conformance: ## Run the conformance vectors (DIR=… runs another folder).
	@go run ./hack/conformance $(DIR)

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run the linters, the layer arrows among them.
	@$(PROGRESS) "linting" $(BIN)/golangci-lint run ./...

.PHONY: verify
verify: $(BIN)/controller-gen ## Check that generated files, formatting and go.mod are current.
	@hack/tools/verify.sh

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (30s).
	@hack/tools/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run every benchmark for BENCHTIME (1s).
	@go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

.PHONY: test-long
test-long: test ## After test: more properties, the race detector, every fuzz target for LONGFUZZTIME (5m).
	@KUBEBUILDER_ASSETS='$(ASSETS)' hack/tools/long.sh $(LONGFUZZTIME)

##@ Make

.PHONY: generate
generate: $(BIN)/controller-gen ## Write deepcopy functions, CRDs, RBAC and docs/resources.md from Go types, markers and schemas.
	@hack/tools/generate.sh .

.PHONY: deps
deps: ## Install PostgreSQL where it is missing (Debian and Ubuntu as root).
	@hack/tools/deps.sh

.PHONY: devcluster
ifdef KUBEBUILDER_ASSETS
devcluster: ## Build etcd, kube-apiserver, kube-controller-manager and kubectl; cached.
	@test -x '$(ASSETS)/kube-apiserver' || { echo "KUBEBUILDER_ASSETS=$(ASSETS) holds no kube-apiserver; unset it to use the built-in one" >&2; exit 1; }
else
devcluster: $(DEVCLUSTER)/.built
endif

$(DEVCLUSTER)/.built: $(wildcard hack/devcluster/*)
	@$(PROGRESS) "building the control plane (about ten minutes the first time)" hack/devcluster/build.sh $(DEVCLUSTER)
	@touch $@

.PHONY: clean
clean: ## Remove what was built; the control plane in .cache stays.
	@rm -rf $(BIN)

$(BIN)/controller-gen $(BIN)/golangci-lint: $(BIN)/%: hack/tools/versions.txt hack/tools/install.sh
	@$(PROGRESS) "installing $*" hack/tools/install.sh $* $(BIN)

.PHONY: $(BIN)/testcount
$(BIN)/testcount:
	@go build -o $@ ./hack/testcount
