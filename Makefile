# The commands of this repository. `make` alone lists them.
#
# Everything here needs only a POSIX shell, make and either npm or Deno; `make setup` installs the rest in folders that
# git ignores. Each test suite writes its results to .cache/results as a JUnit file.

SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

export DENO_DIR ?= $(CURDIR)/.cache/deno
export XDG_RUNTIME_DIR ?= /tmp
export DENO_NO_UPDATE_CHECK := 1
export PATH := $(CURDIR)/.deno/node_modules/.bin:$(PATH)

# The user's settings for other programs of Node and Deno stay out: a bad line in ~/.npmrc would stop Deno.
unexport NODE_OPTIONS DENO_V8_FLAGS
DENO := HOME="$(CURDIR)/.cache/home" deno

FOLDERS := cli core gpu net chain tests
RESULTS := .cache/results
RUN ?= runs/demo
PICTURES ?= cli/observe/dashboard/pictures
PREFIX ?= $(HOME)/.local

# Runs folders of tests in one process (tests/suite.ts); $(1) names the results, $(2) are folders other than that, and flags.
suite = @$(DENO) run --allow-all --no-check --quiet tests/suite.ts $(1) $(2)

.PHONY: help setup demo test ok static quick tidy unit scenarios attack conformance webgpu simulated seeds sim e2e browser screenshots bench binary release install clean one

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## fetch Deno, packages and a Vulkan driver, write ./iota and ./lab (quick when done)
	@.ci/setup

demo: setup ## train a small model on this machine: orchestrator, miners, validator; resumes if it was stopped before its end
	@if grep -qs '"finished": true' runs/demo/summary.json; then fresh=--fresh; else fresh=; fi; exec ./iota swarm --data runs/demo $$fresh --steps 640

test: setup static quick webgpu ## format, lint, types and all quick suites

ok: test simulated seeds ## run before a commit: test and the simulator

static: setup
	@mkdir -p $(RESULTS); rm -f $(RESULTS)/static_*.failed; status=0; \
	$(DENO) check --quiet $(FOLDERS) & types=$$!; \
	$(DENO) fmt --check || { touch $(RESULTS)/static_format.failed; status=1; }; \
	$(DENO) lint; lint=$$?; [ $$lint -lt 128 ] || { echo "deno lint was ended by a signal ($$lint), running it again"; $(DENO) lint; lint=$$?; }; \
	[ $$lint -eq 0 ] || { touch $(RESULTS)/static_lint.failed; status=1; }; \
	wait $$types || { touch $(RESULTS)/static_types.failed; status=1; }; \
	exit $$status

quick: setup ## tidy, unit, scenarios, attack and conformance in one process
	$(call suite,quick,attack conformance scenarios unit tidy --parallel --together 24)

tidy: setup ## floor plan, import cycles, sizes, names
	$(call suite,tidy)

unit: setup ## tests of single files and folders
	$(call suite,unit,--parallel --together 24)

scenarios: setup ## scripted runs of the role machines
	$(call suite,scenarios,--parallel --together 24)

attack: setup ## whole runs with liars and withholders; the quick rows, or all of them with SEEDS=n
	$(call suite,attack,--parallel --together 24)

conformance: setup ## one suite per interface, run for each implementation
	$(call suite,conformance,--parallel)

# NAME comes from the environment, where make leaves every character of it as it is.
one: setup ## one test file: make one FILE=tests/unit/core/prng_test.ts; before it NAME='a test in it'
	@$(DENO) test --allow-all --no-check $${NAME:+"--filter=$$NAME"} $(FILE)

webgpu: setup ## the kernels on a WebGPU driver: a process of its own and a device for each file, as tests lose them
	$(call suite,webgpu,--parallel)

simulated: setup ## scripted simulations: restarts, reconnects, chains, calm runs
	$(call suite,sim,--parallel)

# Several rounds of short tasks in a virtual minute; $(1) and $(2) are the seeds and miners if not given.
define seeded
@mkdir -p $(RESULTS); rm -f $(RESULTS)/seeds.failed; \
./lab sim --seeds $${SEEDS:-$(1)} --miners $${MINERS:-$(2)} --minutes $${MINUTES:-1} --forward-ms 60 || \
{ touch $(RESULTS)/seeds.failed; exit 1; }
endef

seeds: setup ## 64 seeded swarms of 128 miners: SEEDS=n MINERS=n MINUTES=n; a failed one prints the line that replays it
	$(call seeded,64,128)

sim: setup ## thousands of seeded swarms, all attacks, the quick suites whole: SEEDS=n MINERS=n MINUTES=n CALM=n
	$(call seeded,10000,24)
	@export SEEDS=$${SEEDS:-10000} CALM=$${CALM:-200}; $(MAKE) simulated quick webgpu

e2e: setup ## real processes on this machine
	$(call suite,e2e)

browser: setup ## the dashboard in Chromium, where there is one
	$(call suite,browser)

screenshots: setup ## pictures of terminal and dashboard into PICTURES, of the run in RUN (default runs/demo)
	@mkdir -p "$(PICTURES)" && $(DENO) run --allow-all --no-check --quiet tests/browser/screenshots.ts "$(RUN)" "$(PICTURES)"

bench: setup ## measure the code beside other libraries, and what an orchestrator costs
	@for part in step gemm attention wire hub; do ./lab bench $$part || exit 1; done
	$(DENO) bench --allow-all --no-check tests/lab/bench/peers/

binary: setup ## make dist/iota, one self-contained file: compiled, or packed where denort is not available
	@.ci/binary

release: setup ## make dist/release: a binary for every platform, install.sh and SHA256SUMS
	@.ci/release

install: setup ## link ./iota into PREFIX/bin (default ~/.local/bin)
	@mkdir -p "$(PREFIX)/bin" && ln -sf "$(CURDIR)/iota" "$(PREFIX)/bin/iota" && echo "linked $(PREFIX)/bin/iota"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "add $(PREFIX)/bin to your PATH to call it as iota" ;; esac

clean: ## remove build outputs and test results; runs and fetched packages stay
	@rm -rf dist coverage $(RESULTS)
