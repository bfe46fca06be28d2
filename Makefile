# make demo      install what is missing, build, and run the main job on a real model
# make test      build and run the tests that every change needs
# make test-all  also long sweeps, sanitizers and fuzzing
# make bench     measure; make bench-peer: beside the reference tool; make bench-collection: docs/collection.md
# make wheel     a wheel in dist/ that brings its libraries along

.DEFAULT_GOAL := build

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD := build/release
SOURCES := $(shell find src python cmake -type f -not -name '*.pyc' 2>/dev/null) CMakeLists.txt pyproject.toml \
           $(shell find tests/cpp -type f 2>/dev/null) $(wildcard bench/*.cpp bench/CMakeLists.txt)
JOBS ?= $(shell nproc)

# Debian 12's clang does not know -Wno-restrict and is stricter about RapidJSON's iterators than C++20 means.
tidy: build/.packages
	@cmake --preset dev >/dev/null
	@find src -name '*.cpp' | xargs -P $(JOBS) -n 4 clang-tidy -p build/dev --quiet \
	  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ambiguous-reversed-operator 2>/dev/null

.PHONY: tidy demo demo-mindspore test test-all test-cpp test-python test-mindspore test-old-torch test-old-mindspore test-sanitizers format format-check build bench bench-peer bench-collection wheel clean

build: build/.installed

build/.packages: requirements/debian.txt scripts/install_debian_packages.sh
	@mkdir -p build
	@scripts/install_debian_packages.sh
	@touch $@

$(VENV)/.ready: requirements/python.txt build/.packages
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Python packages into $(VENV) (the first time takes some minutes)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/python.txt
	@touch $@

# One build serves the package, the C++ tests and the benchmarks.
build/.installed: $(VENV)/.ready $(SOURCES)
	@echo "building"
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation \
	  --no-deps --force-reinstall --config-settings=build-dir=$(BUILD) \
	  --config-settings=cmake.define.MSPROBE_BUILD_TESTS=ON --config-settings=cmake.define.MSPROBE_BUILD_BENCHMARKS=ON .
	@touch $@

demo: build
	@$(BIN)/python examples/demo.py

demo-mindspore: build
	@$(BIN)/python examples/demo_mindspore.py

test: build format-check test-cpp test-python test-mindspore test-old-torch

test-cpp: build
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

test-python: build
	$(BIN)/python -m pytest -m "not slow"

# A process of its own: MindSpore and torch each bring threads and libraries of their own along.
test-mindspore: build
	$(BIN)/python -m pytest -m "not slow" tests/mindspore

test-old-torch: build
	@scripts/test_old_torch.sh $(BIN)/python

# The oldest MindSpore that PyPI offers for this Python.
test-old-mindspore: build
	@scripts/test_old_mindspore.sh $(BIN)/python

test-all: test tidy test-sanitizers test-old-mindspore
	$(BIN)/python -m pytest -m slow
	$(BIN)/python -m pytest -m slow tests/mindspore; test $$? -eq 0 -o $$? -eq 5

test-sanitizers: build
	@for preset in asan tsan; do \
	  cmake --preset $$preset >/dev/null && cmake --build --preset $$preset -j $(JOBS) --target cpp_tests && \
	  ctest --preset $$preset || exit 1; done

FORMATTED := $(shell find src tests/cpp bench -name '*.h' -o -name '*.cpp' 2>/dev/null)

format:
	@clang-format -i $(FORMATTED)

format-check: build/.packages
	@clang-format --dry-run -Werror $(FORMATTED)

bench: build
	@$(BIN)/python bench/run.py

bench-peer: build
	@$(BIN)/python bench/run.py --peer

bench-collection: build
	@$(BIN)/python bench/collection.py

wheel: $(VENV)/.ready
	@scripts/make_wheel.sh $(BIN)/python

clean:
	rm -rf build out dist
