# The targets people type, in front of the presets of CMakePresets.json. Each first installs the
# packages of packages.txt that are missing.
#
#   make run    the main job: loads a real data set, kills the loader again and again, verifies
#   make build  leaves the command at build/holdfast
#   make check  the fast tests, at most a minute once built
#   make test   everything that must pass before a change goes in, under 15 minutes
#   make soak   every test at full length
#   make reference  what the public headers promise, as pages in build/reference/html
#   make bench  every benchmark suite; tables on the terminal, records in build/bench-*.json
#   make clean  removes build/

.PHONY: run build check test soak reference bench clean packages
.DEFAULT_GOAL := build

# Stages share two cores and some directories: make itself runs them one after another.
.NOTPARALLEL:

suites ?= floor sps hash btree rbtree open bounded-buffer lines wrap intset itm ecc memory

packages:
	@cmake/packages.sh
	@mkdir -p build

build: packages
	@cmake --preset release >build/configure-release.txt 2>&1 || { cat build/configure-release.txt >&2; exit 1; }
	@cmake --build --preset release --target holdfast_command

run: build
	@tools/demonstrate.sh build/holdfast

check: packages
	@cmake/stage.sh release fast

test: packages
	@cmake/stage.sh release release
	@cmake/stage.sh clang clang
	@cmake/stage.sh tsan tsan
	@cmake/stage.sh aarch64 aarch64
	@echo "All tests passed."

soak: packages
	@cmake/stage.sh soak soak
	@cmake/fuzz.sh 600

reference: packages
	@doxygen docs/reference/Doxyfile
	@echo "build/reference/html/index.html"

bench: build
	@for suite in $(suites); do build/holdfast bench $$suite --json build/bench-$$suite.json || exit 1; done

clean:
	rm -rf build
