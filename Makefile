# The targets people type, in front of the presets of CMakePresets.json. Each first installs what it
# needs of the packages of packages.txt.
#
#   make run    the main job: loads a real data set, kills the loader again and again, verifies
#   make build  all programs: the command at build/holdfast, and beside it those that it starts
#   make check  the fast tests, at most a minute once built
#   make test   everything that must pass before a change goes in
#   make rig    cuts the power of an emulated machine 100 times and verifies what is left
#   make soak   every test at full length
#   make reference  what the public headers promise, as pages in build/reference/html
#   make bench  every benchmark suite; tables on the terminal, records in build/bench-*.json
#   make times  measures what these take, from nothing
#   make clean  removes build/

.PHONY: run build check test rig soak reference bench times clean packages packages-of-rig
.DEFAULT_GOAL := build

# Stages share two cores and some directories: make itself runs them one after another.
.NOTPARALLEL:

suites ?= floor sps hash btree rbtree ssca2 open bounded-buffer lines wrap intset itm stamp dnv-list cache cchtm ecc memory powerfail

build:
	@cmake/packages.sh build
	@cmake/stage.sh build

run:
	@cmake/packages.sh run
	@cmake/stage.sh run
	@tools/demonstrate.sh build/holdfast

packages:
	@cmake/packages.sh test

# What `make rig` needs. Where it cannot be had, `make test` goes on without: the rig's test says so in one line.
packages-of-rig: packages
	@cmake/packages.sh rig && cmake/unpack.sh

check: packages
	@cmake/stage.sh release fast

test: packages
	@{ cmake/packages.sh rig && cmake/unpack.sh; } || echo "going on without the rig's machine"
	@cmake/stage.sh release release
	@cmake/stage.sh clang clang
	@cmake/stage.sh tsan tsan
	@cmake/stage.sh aarch64 aarch64
	@echo "All tests passed."

rig: packages-of-rig
	@cmake/stage.sh rig
	@python3 -B tests/rig/rig.py build/release --json build/rig.json --times build/rig-times.json

soak: packages
	@{ cmake/packages.sh rig && cmake/unpack.sh; } || echo "going on without the rig's machine"
	@cmake/stage.sh soak soak
	@cmake/fuzz.sh 600

reference: packages
	@docs/reference/write.sh
	@echo "build/reference/html/index.html"

bench: build
	@for suite in $(suites); do build/holdfast bench $$suite --json build/bench-$$suite.json || exit 1; done

times: packages
	@cmake/times.sh

clean:
	rm -rf build
