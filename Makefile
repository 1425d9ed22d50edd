# make build | demo | test | test-slow | check | lint | wheel | wheel-test | bench | bench-peers | docs | conformance | clean.
# Each does all of its own set-up.
# PYTHON=python3.12 chooses the interpreter that .venv is made with.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: build demo announced test check wheel wheel-test lint lint-rust lint-python test-rust \
    test-python test-python-now test-slow tested tshark bench bench-peers bench-scale docs conformance certify clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# As many jobs as cores, whoever else works: cargo could not open the pipe of make's own count.
RUST := unset MAKEFLAGS MFLAGS; source tools/find-rust.sh;
# crates/py builds against the interpreter of the virtual environment.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Packages are installed once, and of SciPy and its like a small part is ever imported: to keep their
# files twice and to compile them all would take 0.2 GB.
export PIP_NO_CACHE_DIR := 1
export PIP_COMPILE := 0
# Hundreds of processes of the tests import retx: they find it compiled, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=
# The extension, its tests and clippy share one profile, and so their dependencies.
DEVELOP := --profile develop --no-default-features --locked

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

# For daily use and for measures: optimised as a whole. What else needs retx takes either build.
build: $(VENV)/released

# In an empty clone the demo removes what the compiler made for it: 0.4 GB, which only another build needs.
COMPILED := target/develop target/maturin target/CACHEDIR.TAG target/.rustc_info.json
demo: announced
	@fresh=$$([ -e target ] || echo yes); $(MAKE) --no-print-directory $(VENV)/built; \
	    if [ "$$fresh" ]; then rm -rf $(COMPILED); rmdir target 2> /dev/null || true; fi
	mkdir -p out
	$(BIN)/retx why scenarios/why-satellite.toml --html out/why-satellite.html --plot why=out/why-satellite.png
	$(BIN)/retx study high-ber --quick --emulations 0

# Says before the first minute of silence how long it lasts.
announced:
	@if [ -e $(VENV)/built ]; then echo "make demo takes about half a minute on two cores."; else \
	    echo "make demo takes about 4 minutes on two cores: 3 to build (0.6 GB stay in .venv), then" \
	    "half a minute for a question and a study."; fi

# Everything but what takes long (test-slow): the documentation's site, the reports of the studies,
# studies and sweeps with tables that are killed, how often `compare` errs.
# First what Python's tests need, with clippy while pip installs; then Rust's tests are compiled and run
# while Python's run: emulations, which take turns, mostly wait.
test:
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target tshark lint-rust tested
	$(MAKE) --no-print-directory --jobs=3 --output-sync=target lint-python test-rust test-python-now

# Lint and tests of what changed since BASE, where this branch left the main one; studies, and what is
# far from the change, are for `make test`.
check:
	@[ -e $(VENV)/tested ] || $(MAKE) --no-print-directory $(VENV)/tested
	$(RUST) $(BIN)/python tools/changed.py $(if $(BASE),--base $(BASE))

lint: lint-rust lint-python

lint-rust: $(BIN)/python
	$(RUST) rustfmt --check --edition 2024 $$(git ls-files -co --exclude-standard '*.rs')
	$(RUST) cargo clippy --workspace --all-targets $(DEVELOP) -- -D warnings

lint-python: $(VENV)/tested
	$(BIN)/ruff check python studies docs bench tools
	$(BIN)/ruff format --check python studies docs bench tools
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest retx._native

# Of the whole workspace, so that features, and with them dependencies, are those of the extension. Without
# doc tests: there are none, and to find that out takes minutes.
TEST_RUST := cargo test --workspace --tests $(DEVELOP)
test-rust: $(BIN)/python tshark
	$(RUST) $(TEST_RUST)

# Groups of tests (conftest.py) on all cores, and on one more: the group that emulates mostly waits.
PROCESSES = $$(($$($(BIN)/python -c 'import os; print(os.cpu_count())') + 1))
PYTEST = $(BIN)/pytest -rs --numprocesses $(PROCESSES) --no-loadscope-reorder

test-python: $(VENV)/tested tshark
	$(PYTEST) -m 'not slow'

# Shows each line at once, not all of them at the end.
test-python-now:
	@$(MAKE) --no-print-directory --output-sync=none test-python

# The tests that take long.
test-slow: $(VENV)/tested tshark
	$(PYTEST) -m slow

tested: $(VENV)/tested

# Tests of captures ask tshark what it reads in them.
tshark: | $(BIN)/python
	tools/packages.sh tshark=tshark || echo "The tests that read captures with tshark are skipped."

# A wheel for every Linux on x86-64 with glibc 2.28 or newer, and a source distribution: target/wheels.
# Rust's own linker would ask for this machine's glibc; zig brings the symbols of the older one along.
wheel: $(BIN)/python
	$(BIN)/python -m pip install --quiet 'maturin[zig]>=1.9,<2' 'auditwheel>=6'
	rm -rf target/wheels
	$(RUST) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --locked --zig \
	    --compatibility manylinux_2_28
	$(RUST) $(BIN)/maturin sdist
	tar --list --file target/wheels/retx-*.tar.gz | grep '/_studies/high-ber/study.toml$$'
	PATH="$(CURDIR)/$(BIN):$$PATH" tools/oldest_glibc.sh target/wheels/retx-*.whl 28

# The wheel where there is only Python: takes a minute and downloads what retx needs.
wheel-test: wheel
	tools/wheel_test.py target/wheels/retx-*.whl --python $(PYTHON)

bench: build
	$(RUST) cargo bench --package retx-sim --bench engine --locked
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/user_code.py
	$(BIN)/python bench/sweep.py
	$(BIN)/python bench/replications.py
	$(RUST) $(BIN)/python bench/diagnose.py
	$(BIN)/python tools/drill_speed.py
	tools/packages.sh valgrind=valgrind
	$(RUST) $(BIN)/python bench/instructions.py

# What a segment costs as flows, hops, the window or samples become more.
bench-scale: build
	tools/packages.sh valgrind=valgrind
	$(RUST) $(BIN)/python bench/scale.py --figure target/scale.png

# retx beside ns-2 and ns-3, which it installs; PEERS="--only dumbbell --limit 20": docs/speed.md.
bench-peers: build
	$(RUST) PYTHONPATH=bench $(BIN)/python -m peers $(PEERS)

# The documentation's site, from docs and from the code: target/docs/index.html.
docs: $(VENV)/tested
	$(BIN)/sphinx-build --quiet --fail-on-warning -b html docs target/docs

# Other projects' scripts, by retx drill and by the unmodified packetdrill. They are not part of
# retx: tools/conformance/README.md says which checkouts the variables name.
ifneq ($(filter conformance,$(MAKECMDGOALS)),)
$(foreach name,PACKETDRILL GOOGLE LINUX NPLAB FREEBSD,$(if $($(name)),,$(error $(name)=... is missing: \
see tools/conformance/README.md)))
endif
conformance: build
	$(RUST) cargo build --release --package retx-packetdrill --locked
	PYTHONPATH=tools $(BIN)/python -m conformance --packetdrill "$(PACKETDRILL)" \
	    --library "$${CARGO_TARGET_DIR:-target}/release/libretx_packetdrill.so" \
	    --retx $(BIN)/retx --google "$(GOOGLE)" --linux "$(LINUX)" --nplab "$(NPLAB)" \
	    --freebsd "$(FREEBSD)"
	PYTHONPATH=tools $(BIN)/python -m conformance.google --google "$(GOOGLE)" --retx $(BIN)/retx

# Plays drills/linux on this machine's kernel; needs root. PACKETDRILL: the program, or its checkout.
certify:
	tools/certify.py --packetdrill "$(or $(PACKETDRILL),$(error PACKETDRILL=... is missing))" drills/linux

clean:
	rm -rf $(VENV) target python/retx/*.so

# The virtual environment, and the C compiler, by which Rust links: nothing else is installed meanwhile.
$(BIN)/python:
	tools/packages.sh venv=python3-venv cc=build-essential
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit(f"retx needs Python 3.10 or newer; this is {sys.version}")'
	$(PYTHON) -m venv $(VENV)

# The extension module and the command, with what they need to run.
PROFILE := $(DEVELOP)
define install
tools/packages.sh cc=build-essential
$(BIN)/python -m pip install --quiet 'maturin>=1.9,<2'
$(RUST) $(BIN)/maturin develop $(PROFILE) $(EXTRAS)
touch $@
endef

$(VENV)/built: $(RUST_SOURCES) pyproject.toml | $(BIN)/python
	$(install)

$(VENV)/released: PROFILE := --release --locked
$(VENV)/released: $(RUST_SOURCES) pyproject.toml | $(BIN)/python
	$(install)
	touch $(VENV)/built

# What the tests need on top. Where retx is still to be built, its packages come with it, while clippy
# holds the lock of the compiler; where it is there already, pip adds them.
$(VENV)/tested: EXTRAS := --extras test
$(VENV)/tested: $(VENV)/built
	$(BIN)/python -m pip install --quiet 'retx[test]'
	touch $@
