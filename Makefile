# Everything that is downloaded or built goes into target/; `make help` lists what there is to do.

SHELL := /bin/bash
.DEFAULT_GOAL := help
# Each step stands on the one before.
.NOTPARALLEL:

tools := $(CURDIR)/target/tools
# The binaries that run in Lambda; mesh-audit runs in a terminal.
functions := task-events reconcile audit
mutants := cargo test --locked --features mutants --test simulation mutant -- --nocapture
architecture := $(if $(filter aarch64 arm64,$(shell uname -m)),arm64,x86_64)

export PATH := $(tools)/bin:$(tools)/venv/bin:$(PATH)
export SAM_CLI_TELEMETRY := 0
# Where the SAM CLI keeps notes of its own, instead of the home directory.
export __SAM_CLI_APP_DIR := $(tools)/sam

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Get the tools: Consul, MiniStack, the SAM CLI, cargo-lambda, cargo-deny (into target/)
	@scripts/setup.sh

.PHONY: browser
browser: ## Find or install a Chromium, for the tests of the HTML report
	@scripts/setup-browser.sh

.PHONY: build
build: setup validate ## Build the function and the template, ready to deploy (into target/sam)
	@# The same build that `sam build` makes, which would show no progress; it then finds everything done.
	cargo lambda build --release --locked $(addprefix --bin ,$(functions)) $(if $(filter arm64,$(architecture)),--arm64)
	sam build --build-dir target/sam --parameter-overrides Architecture=$(architecture)

.PHONY: validate
validate: setup ## Check the template
	sam validate --lint --region us-east-1

.PHONY: fmt
fmt: ## Format the code
	cargo fmt

.PHONY: lint
lint: setup ## Check format, lints and dependencies
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --test simulation --features mutants -- -D warnings
	@scripts/deny.sh

.PHONY: test
test: setup browser lint build ## Run everything: format, lints, template, and all tests against the real stack
	cargo test --locked --all-targets
	cargo test --locked --doc
	$(mutants)

.PHONY: simulate
simulate: ## Search for a broken promise (SECONDS=600 or SCHEDULES=1000000), or replay a schedule (SEED=42)
	$(if $(SEED),SEED=$(SEED)) $(if $(SCHEDULES),SIMULATION_SCHEDULES=$(SCHEDULES),SIMULATION_SECONDS=$(or $(SECONDS),60)) \
		SIMULATION_FIRST_SEED=$(or $(FIRST_SEED),$$RANDOM$$RANDOM$$RANDOM) \
		cargo test --profile simulation --locked --test simulation $(if $(SEED),replay,promises) -- --nocapture

.PHONY: mutants
mutants: ## Prove that the simulation finds mistakes that are made on purpose (MUTANT=NoVerify for one of them)
	$(mutants)

.PHONY: demo
demo: build ## Show the controller at work on a local stack (KEEP=1 leaves it running)
	cargo run --locked --example demo -- $(if $(KEEP),--keep)

.PHONY: fuzz
fuzz: ## Feed random input to everything that reads what comes from outside (SECONDS=60, TARGETS="events arns")
	@scripts/fuzz.sh $(or $(SECONDS),60) $(TARGETS)

.PHONY: chaos
chaos: build ## Inject faults into the real stack for longer (SECONDS=600; SEED= repeats a run's decisions)
	CHAOS_SECONDS=$(or $(SECONDS),600) cargo test --locked --test chaos -- --nocapture

.PHONY: load
load: build ## Replace a cluster of 5,000 tasks at once on the local stack
	cargo test --locked --test load -- --nocapture

.PHONY: clean
clean: ## Remove everything that was downloaded or built
	rm -rf target .aws-sam
