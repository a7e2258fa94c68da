# Every way to use this checkout; `make` alone lists them. The work is done by tool/.

SERIES = 3.4
BUILT = build/$(SERIES)
# A variable of the environment is not meant: images of Ruby have one of this name.
ifeq ($(origin RUBY_VERSION),command line)
SERIES = $(basename $(RUBY_VERSION))
BUILT = build/$(RUBY_VERSION)
export RUBY_RELEASE = $(RUBY_VERSION)
endif
INSTALLED = $(or $(PREFIX),$(BUILT)/prefix)
RUBY = $(INSTALLED)/bin/ruby

.PHONY: help demo build stock deps test test-zoo test-mri-full test-checks test-threads bench refresh clean distclean

help:
	@sed -n 's/^#: //p' $(firstword $(MAKEFILE_LIST))

#: make demo          build the patched Ruby and let it profile the example program
demo: build
	@if [ -x examples/demo/run ]; then examples/demo/run $(RUBY); else $(RUBY) -v; fi

#: make demo RUBY_VERSION=3.4.10    the same of another release that upstream/3.4 pins; so with build, stock and test
#: make build         fetch, patch, build and install it in build/3.4/prefix (PREFIX=… elsewhere)
#  (with the HTML view, the heapsample command and the manual for ri; WITHOUT=viewer,heapsample,ri leaves them out)
build: deps
	@tool/build default $(SERIES)
	@tool/viewer $(INSTALLED)
	@tool/heapsample $(INSTALLED)
	@tool/ri $(INSTALLED)

#: make stock         the same Ruby without our changes, in build/3.4-stock/prefix
stock: deps
	@tool/build stock $(SERIES)

#: make build-NAME    another variant: see tool/variants
build-%: deps
	@tool/build $* $(SERIES)

#: make deps          install the Debian packages it needs (root), or name the missing ones
deps:
	@tool/deps build

#: make test          the suites of test/fast, beside each other, then those of test/alone, one by one
test: build
	@tool/deps test example
	@RUBY=$(abspath $(RUBY)) tool/run-tests $(wildcard test/fast/*/run test/alone/*/run)

#: make test-NAME     one suite, a slow one too: test-queue (test/fast/queue), test-statistics (test/slow/statistics), …
test-%: build
	@tool/deps test example
	@RUBY=$(abspath $(RUBY)) tool/run-tests $(or $(wildcard test/*/$*/run),$(error no suite named $*; the suites: $(sort $(notdir $(patsubst %/run,%,$(wildcard test/*/*/run))))))

#: make test-zoo      records programs whose truth is known, and says how often the diagnosis is right (a quarter of an hour)
#  (not by tool/run-tests: its table is what one wants to see)
test-zoo: build
	@tool/deps test example
	@RUBY=$(abspath $(RUBY)) test/zoo/run

#: make test-torture  ten minutes of everything at once (TORTURE_SECONDS=3600 SUITE_SECONDS=5400: an hour)

#: make test-mri-full all of MRI's own tests, compared with the unpatched Ruby's (hours; can be resumed)
#  (not by tool/run-tests: it prints each part when it is done, and has no time limit)
test-mri-full: build stock
	@tool/deps test example
	@RUBY=$(abspath $(RUBY)) test/slow/mri-full/run

#: make test-checks   builds that check themselves: sanitizers, MRI's assertions, ours (hours; can be resumed)
test-checks: build
	@tool/deps test checks
	@SUITE_SECONDS=43200 tool/run-tests test/slow/checks/run

#: make test-threads  what runs without the GVL, under ThreadSanitizer and AddressSanitizer
test-threads: build
	@tool/deps test checks
	@tool/run-tests test/slow/threads/run

#: make bench         the benchmarks, each with its control
bench: build stock
	@tool/deps bench
	@if [ -x benchmark/run ]; then benchmark/run; else echo 'no benchmark/run yet'; fi

#: make refresh       rewrite patches/3.4 so that every patch applies without offsets
refresh:
	@tool/deps build test
	@tool/refresh $(SERIES)

#: make clean         remove what was built; the downloaded source stays
clean:
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name distfiles -exec rm -rf {} +

#: make distclean     remove everything generated
distclean:
	rm -rf build
