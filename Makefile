# Tools and builds are in target/, except crates, which cargo keeps in its own folder, and Chromium, which is a system package.
# `make help` lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help
# The prerequisites of a target run in order.
.NOTPARALLEL:

tools := $(CURDIR)/target/tools
# Fetches what scripts/tools.toml lists.
fetch := $${PYTHON:-python3} scripts/fetch.py
# The binaries that run in Lambda; ecs-mesh runs in a terminal.
functions := task-events reconcile audit
architecture := $(if $(filter aarch64 arm64,$(shell uname -m)),arm64,x86_64)
lambda_flags := $(if $(filter arm64,$(architecture)),--arm64)
# Always all packages: cargo unifies the features of the selected packages, and rebuilds dependencies for another selection.
all := --locked --workspace
# Optimises the workspace's code in the simulation's search, which makes it six times as fast. scripts/suites.py reads it.
export SEARCH_FLAGS := $(foreach package,controller mesh observe simulation,--config profile.dev.package.$(package).opt-level=1)
search := $(all) $(SEARCH_FLAGS)
# The mutants of `make test`, one for each layer; `make mutants` tests all.
some_mutants := failure-acknowledged no-nonce not-hidden
# Property tests have a fixed seed, so that results depend only on the code; `make properties` uses random seeds.
export PROPTEST_RNG_SEED := 1

export PATH := $(tools)/bin:$(tools)/venv/bin:$(PATH)
export CARGO_TARGET_DIR := $(CURDIR)/target
# A fresh clone builds once: what the next build could reuse only fills the disk.
ifdef CI
export CARGO_INCREMENTAL := 0
endif
export SAM_CLI_TELEMETRY := 0
# The SAM CLI's directory for its own files, instead of the home directory.
export __SAM_CLI_APP_DIR := $(tools)/sam

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: tools browser ## Get what the demo and the tests need from the network: tools (into target/), crates, a browser
	cargo fetch --locked

.PHONY: tools
tools:
	@$(fetch) tools

.PHONY: consul
consul: ## Get another Consul for CONSUL_BIN (CONSUL=1.22.6; from HashiCorp, into target/tools)
	@$(fetch) consul $(CONSUL)

.PHONY: browser
browser:
	@$(fetch) browser

.PHONY: demo
demo: ## Show the controller at work on a local stack (KEEP=1 leaves it running)
	@test -x target/debug/demo || printf '%s\n' 'The first time this takes five minutes on two cores, ten if they are busy, and later one minute:' \
		'  1. get the tools (Consul, MiniStack, the SAM CLI): about a minute' \
		'  2. build the functions, unoptimised: three minutes or more' '  3. deploy to a local stack and play nine scenes: less than a minute'
	@$(MAKE) --no-print-directory tools
	cargo build $(all) --bin demo $(addprefix --bin ,$(functions))
	@target/debug/demo $(if $(KEEP),--keep)

.PHONY: dashboard
dashboard: tools ## Draw the dashboard from the metrics of the demo, into docs/images/dashboard.svg
	cargo build $(all) --bin demo $(addprefix --bin ,$(functions))
	@target/debug/demo --dashboard docs/images/dashboard.svg

.PHONY: recordings
recordings: tools ## Record check, and on the local stack status and why, into docs/images
	cargo build $(all) $(addprefix --bin ,$(functions))
	UPDATE_DOCS=1 cargo test $(all) --test command_line --test end_to_end -- recording

.PHONY: build
build: tools validate ## Build the optimised functions and the template, ready to deploy (into target/sam)
	@# The same build as that of `sam build`, which would show no progress and then finds the result.
	@# The audit is built separately, so that its dependencies' features are not unified with those of the others.
	cargo lambda build --release --locked --bin task-events --bin reconcile $(lambda_flags)
	cargo lambda build --release --locked --package audit-function --bin audit $(lambda_flags)
	sam build --build-dir target/sam --parameter-overrides Architecture=$(architecture)

# They reach the shell from its environment: a value may have characters that a recipe's text would run.
export STACK ?= ecs-mesh-controller
export PARAMETERS

.PHONY: deploy
deploy: tools ## Build and deploy the controller from this clone, and check it; asks for what is missing (STACK=mesh PARAMETERS="Mode=observe")
	@python3 scripts/deploy.py $(architecture) target/parameters.yaml
	@$(MAKE) --no-print-directory build
	cargo build $(all) --bin ecs-mesh
	sam deploy --template-file target/sam/template.yaml --stack-name "$$STACK" --resolve-s3 --capabilities CAPABILITY_IAM \
		--no-fail-on-empty-changeset --parameter-overrides file://target/parameters.yaml
	target/debug/ecs-mesh doctor --stack "$$STACK"

# The target of the wheel. zig links against an old glibc or musl, and for Windows; macOS has its own linker.
TARGET ?= $(shell rustc -vV | sed -n 's/^host: //p')
linker := $(if $(findstring apple,$(TARGET)),,--zig)
libc := $(if $(findstring musl,$(TARGET)),--compatibility musllinux_1_2,$(if $(findstring linux-gnu,$(TARGET)),--compatibility manylinux2014))

.PHONY: dist
dist: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct)
dist: tools wheel ## Build and package the artefacts of a release for this machine's architecture (into target/dist)
	cargo auditable lambda build --release --locked --bin task-events --bin reconcile $(lambda_flags)
	cargo auditable lambda build --release --locked --package audit-function --bin audit $(lambda_flags)
	@python3 scripts/dist.py package $(architecture)
	@python3 scripts/dist.py sums
	cfn-lint --regions us-east-1 -- target/dist/stackset.yaml
	@cd target/dist && ls -l --human-readable --reverse -S

.PHONY: wheel
wheel: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct)
wheel: ## Build the wheel of ecs-mesh (TARGET=x86_64-unknown-linux-musl for another platform)
	@$(fetch) wheel
	@rm -f target/dist/*.whl
	@python3 scripts/dist.py licences
	CARGO=$(CURDIR)/scripts/cargo-auditable.sh maturin build --release --target $(TARGET) $(linker) $(libc) --out target/dist

.PHONY: checksums
checksums: ## Write SHA256SUMS of the artefacts that are in target/dist
	@python3 scripts/dist.py sums

.PHONY: vscode
vscode: tools ## Check the extension of VS Code, and bundle it (into integrations/vscode/dist)
	@cd integrations/vscode && npm run --silent lint && npm run --silent build

.PHONY: site
site: tools ## Build the site of docs/ (into target/site)
	@python3 scripts/site/build.py

.PHONY: site-test
site-test: site ## Show the site in a browser: links, widths, and what axe finds
	@node --test --test-reporter spec scripts/site/check.mjs

# The shell reads TAG from its environment: a tag's name may have characters that a recipe's text would run.
export TAG

.PHONY: tag
tag: ## Check that a tag is the version, and that changelog and README name it (TAG=v0.1.0)
	@python3 scripts/dist.py tag "$$TAG"

.PHONY: release
release: tag ## Publish target/dist as the release of a tag on GitHub (TAG=v0.1.0; needs gh)
	cd target/dist && gh release create "$$TAG" --verify-tag --title "$$TAG" --notes-file release-notes.md \
		SHA256SUMS $$(cut -d ' ' -f 3 SHA256SUMS)

.PHONY: validate
validate: tools ## Check the template, the policies to deploy it, the examples in CloudFormation, and the templates of make aws-test
	sam validate --lint --region us-east-1
	cfn-lint --regions us-east-1 -- examples/cloudformation/*.yaml examples/cdk/*.template.json scripts/aws_test/*.yaml
	@python3 scripts/deployers.py --check
	@python3 scripts/aws_shapes.py --check

.PHONY: bench
bench: tools ## Measure the speed (needs valgrind; PARTS="first-events plots" for some of it)
	cargo build --release --locked --bin task-events --bin reconcile
	cargo build --release --locked --package lambda --example bare
	cargo build --release --locked --package cli --bin ecs-mesh
	BENCH_BINARIES=$(CURDIR)/target/release cargo bench $(all) --profile dev --bench bench -- $(PARTS)

.PHONY: keystroke
keystroke: tools ## Measure how long a keystroke takes in an editor, in projects of 100 files
	cargo build --release --locked --package cli --bin ecs-mesh
	ECS_MESH=$(CURDIR)/target/release/ecs-mesh python3 -m pytest --quiet --capture no -p no:cacheprovider -k neovim \
		-o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=function crates/cli/tests/command_line/lsp/keystroke.py

# Parameters of the controller's stack: PARAMETERS="--parameter LambdaRolePath=/sandbox/".
aws_test := $(if $(YES),--yes) $(if $(KEEP),--keep) $(if $(CLEAN_UP),--clean-up) $(PARAMETERS)

.PHONY: aws-test
aws-test: tools ## Run the controller in a sandbox account of AWS, after a question (YES=1, KEEP=1, CLEAN_UP=1; costs up to a dollar)
	@$(if $(CLEAN_UP),,test -e target/dist/template.yaml || $(MAKE) --no-print-directory dist)
	@# exec: a signal to make reaches the program, which removes what it has created.
	@exec env PYTHONPATH=scripts python3 -B -m aws_test $(aws_test)

.PHONY: fmt
fmt: ## Format the code
	cargo fmt --all

.PHONY: lint
lint: ## Check format and lints
	cargo fmt --all --check
	cargo clippy $(all) --all-targets -- -D warnings

.PHONY: workflows
workflows: tools ## Lint the workflows and the action
	zizmor --quiet --offline --no-progress .github/workflows action.yml
	@if command -v actionlint >/dev/null; then actionlint; else echo 'actionlint: skipped, because it is not on PATH'; fi

.PHONY: check
check: lint ## Check format and lints, and run the tests that need no server
	cargo test $(all) --lib --test mesh --test audit --test command_line --test repository -- --skip conformance

.PHONY: pages
pages: tools ## Write the pages of the rules, the permissions and the snapshots of reports anew
	UPDATE_DOCS=1 INSTA_UPDATE=always cargo test $(all) --lib --test audit --test command_line --test repository -- page reports
	@python3 scripts/deployers.py
	@python3 scripts/aws_shapes.py

.PHONY: newer-releases
newer-releases: ## Say which releases of HashiCorp are newer than the table of releases (ISSUE=1 opens an issue on GitHub)
	@python3 scripts/newer_releases.py $(if $(ISSUE),--issue)

.PHONY: test
test: setup lint workflows validate vscode site-test ## Run everything: format, lints, dependencies, template, extension, site, and all tests
	cargo-deny --locked --workspace check licenses bans sources
	cargo test $(all) --doc
	@$(MAKE) --no-print-directory sam-build
	@python3 scripts/suites.py run
	@python3 scripts/statements.py
	cargo build $(all) --bin demo
	@target/debug/demo > target/test/demo.log 2>&1 || { tail -n 50 target/test/demo.log; exit 1; }
	@python3 scripts/mutants.py $(some_mutants)

.PHONY: test-release
test-release: build ## Run the end-to-end tests with the optimised functions of `make build`
	FUNCTIONS_DIR=$(CURDIR)/target/lambda python3 scripts/suites.py run end_to_end

# The version that test-upgrade starts from: a commit or a tag.
export FROM

.PHONY: test-upgrade
test-upgrade: tools ## Update a stack from an earlier version and go back, while tasks run (FROM=v0.1.0; by default the last release)
	cargo build $(all) $(addprefix --bin ,$(functions))
	@version=$$(scripts/upgrade.sh "$$FROM") && UPGRADE_FROM="$$version" cargo test $(all) --test end_to_end -- --nocapture --exact \
		upgrade::running_tasks_keep_their_tokens_when_the_stack_is_updated_and_goes_back

# `make build` unoptimised and without zig: tests that the SAM CLI finds each function's binary. The other tests deploy target/debug/*,
# not these files. cargo-lambda sets a target, so that cargo builds the dependencies again, in target/<target>.
.PHONY: sam-build
sam-build: tools
	SAM_BUILD_MODE=debug CARGO_LAMBDA_COMPILER=cargo sam build --build-dir target/sam-debug \
		--parameter-overrides Architecture=$(architecture)
	@for function in TaskEvents:task-events Reconcile:reconcile Audit:audit; do \
		cmp "target/sam-debug/$${function%:*}Function/bootstrap" "target/lambda/$${function#*:}/bootstrap" && \
		grep --quiet "CodeUri: $${function%:*}Function$$" target/sam-debug/template.yaml || exit 1; \
	done

.PHONY: repeat
repeat: tools ## Run one suite again and again (SUITE=in_process RUNS=20 BUSY=1: every second run with all processors kept busy)
	@python3 scripts/suites.py repeat $(or $(SUITE),in_process) --runs $(or $(RUNS),20) $(if $(BUSY),--busy)

.PHONY: simulate
simulate: ## Search fresh schedules for a broken promise (SECONDS=600 or SCHEDULES=1000000), or replay one (SEED=42)
	cargo build $(search) --bin simulate --test search
	@target/debug/simulate $(if $(SEED),--seed $(SEED),$(if $(SCHEDULES),--schedules $(SCHEDULES),--seconds $(or $(SECONDS),60)) \
		$(if $(FIRST_SEED),--first-seed $(FIRST_SEED)))

.PHONY: properties
properties: ## Try fresh input on the tests of properties (ROUNDS=10)
	cargo test $(all) --lib --test mesh --test audit --no-run
	@for round in $$(seq $(or $(ROUNDS),10)); do \
		echo "round $$round"; env --unset PROPTEST_RNG_SEED cargo test --quiet $(all) --lib --test mesh --test audit -- --skip conformance || exit 1; \
	done

.PHONY: mutants
mutants: ## Prove that the simulation finds mistakes that are made on purpose (MUTANT=no-nonce for one of them)
	@python3 scripts/mutants.py $(MUTANT)

.PHONY: chaos
chaos: tools ## Inject faults into the real stack for longer (SECONDS=600; SEED= repeats a run's decisions)
	CHAOS_SECONDS=$(or $(SECONDS),600) cargo test $(all) --test faults -- --nocapture --skip load

.PHONY: mesh-programs
mesh-programs: ## Get the real programs of `make traffic` (from their publishers, into target/tools/mesh)
	@$(fetch) mesh

mesh_programs := CONSUL_BIN CONSUL_DATAPLANE_BIN CONSUL_ECS_BIN ENVOY_BIN

.PHONY: traffic
traffic: ## Count lost requests with the real programs in CONSUL_BIN, CONSUL_DATAPLANE_BIN, CONSUL_ECS_BIN and ENVOY_BIN
	@missing=; for name in $(mesh_programs); do test -x "$${!name}" || missing="$$missing $$name"; done; \
	if test "$$missing"; then echo "skipped: traffic: no program in$$missing"; else \
		$(MAKE) --no-print-directory tools && cargo build $(all) $(addprefix --bin ,$(functions)) && \
		cargo test $(all) --test traffic -- --nocapture; fi

.PHONY: load
load: tools ## Replace a cluster of many tasks at once on the local stack (TASKS=5000)
	LOAD_TASKS=$(or $(TASKS),5000) cargo test $(all) --test faults load -- --nocapture

.PHONY: fuzz
fuzz: ## Feed random input to everything that reads what comes from outside (SECONDS=60, TARGETS="events arns")
	@scripts/fuzz.sh $(or $(SECONDS),60) $(TARGETS)

.PHONY: advisories
advisories: tools ## Look for known vulnerabilities of dependencies (needs the network)
	cargo-deny --locked --workspace check advisories

.PHONY: clean
clean: ## Remove the tools and everything that was built
	rm -rf target .aws-sam integrations/vscode/node_modules integrations/vscode/dist scripts/site/node_modules
