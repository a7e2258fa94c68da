# Every way to use this checkout; `make` alone lists them. The work is done by tool/.

#: Build, test and benchmark Ruby with the heap sampler.
#:
#:     make demo     # build Ruby, profile a program that leaks, print the answer
#:     make check    # test what needs no build: the library, the command, the page, texts
#:     make test     # build Ruby and test it
#:
#: Build:

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

.PHONY: help demo build stock deps test test-all test-zoo test-mri-full test-checks test-threads bench refresh clean distclean

help:
	@sed -n 's/^#: \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

#:   make demo            build Ruby, and profile the example program
demo: build
	@if [ -x examples/demo/run ]; then examples/demo/run $(RUBY); else $(RUBY) -v; fi

#:   make build           download, patch, build and install Ruby
#  (with the HTML view, the gem heapsample for other Rubies and the manual for ri; WITHOUT=viewer,ri leaves the page and the manual out)
build: deps
	@tool/build default $(SERIES)
	@tool/viewer $(INSTALLED)
	@tool/gem $(RUBY)
	@tool/ri $(INSTALLED)

#:   make stock           build the same Ruby without patches, in build/3.4-stock/prefix
stock:
	@tool/deps build
	@tool/build stock $(SERIES)

#:   make build-NAME      build a variant, such as build-debug; tool/variants lists them
build-%:
	@tool/deps build
	@tool/build $* $(SERIES)

#:   make deps            install missing Debian packages (as root), or print their names
deps:
	@tool/deps build $(if $(findstring viewer,$(WITHOUT)),,viewer)

#:
#: Test:
#:   make check           run test/check: no network, no build (two minutes)
check:
	@RUBY=$(abspath $(RUBY)) tool/run-tests $(wildcard test/check/*/run)

#:   make test            run test/check and test/fast (12 minutes after a build)
test: build linters
	@tool/deps test example
	@RUBY=$(abspath $(RUBY)) tool/run-tests $(wildcard test/check/*/run test/fast/*/run)

#:   make test-all        run test/check, test/fast and test/all (many hours)
test-all: build stock linters
	@tool/deps test example checks
	@RUBY=$(abspath $(RUBY)) tool/run-tests $(wildcard test/*/*/run)

#:   make test-NAME       build, then run the suites of this name in these folders, such as test-queue
test-style: linters
test-%: build
	@tool/deps test example
	@RUBY=$(abspath $(RUBY)) tool/run-tests $(or $(wildcard test/*/$*/run),$(error no suite named $*; the suites: $(sort $(notdir $(patsubst %/run,%,$(wildcard test/*/*/run))))))

# Fetches rubocop and prettier, if they are not there.
linters: build
	@tool/deps test
	@tool/format --fetch

#:   make test-zoo        diagnose known programs, and count right answers (3 hours)
#  (not by tool/run-tests: its table is what one wants to see)
test-zoo: build
	@tool/deps test example
	@RUBY=$(abspath $(RUBY)) test/all/zoo/run

#:   make test-torture    run random mixes of VM features under sampling (10 minutes)

#:   make test-host       profile a program at random times, compared with no sampling (10 minutes)

#:   make test-mri-full   run all of MRI's tests, compared with unpatched Ruby (hours; can be resumed)
#  (not by tool/run-tests: it prints each part when it is done, and has no time limit)
test-mri-full: build stock
	@tool/deps test example
	@RUBY=$(abspath $(RUBY)) test/all/mri-full/run

#:   make test-checks     run tests in builds with sanitizers and assertions (hours; can be resumed)
test-checks: build
	@tool/deps test checks
	@tool/run-tests test/all/checks/run

#:   make test-threads    test code that runs without the GVL, under ThreadSanitizer and ASan
test-threads: build
	@tool/deps test checks
	@tool/run-tests test/all/threads/run

#:
#: Benchmark and maintain:
#:   make bench           run the benchmarks, each with its control
bench: build stock
	@tool/deps bench
	@if [ -x benchmark/run ]; then benchmark/run; else echo 'no benchmark/run yet'; fi

#:   make refresh         rewrite patches/3.4 so that every patch applies without offsets
refresh:
	@tool/deps build test
	@tool/refresh $(SERIES)

#:   make clean           remove the build results, but not the downloaded source
clean:
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name distfiles -exec rm -rf {} +

#:   make distclean       remove all generated files
distclean:
	rm -rf build

#:
#: Variables:
#:   PREFIX=FOLDER        where to install Ruby (default: build/3.4/prefix)
#:   RUBY_VERSION=NUMBER  a release in upstream/3.4, such as 3.4.10 (default: 3.4.5)
#:   WITHOUT=LIST         leave out viewer or ri, separated by a comma (default: none)
#:   JOBS=NUMBER          parallel build jobs (default: one per processor)
#:   TEST_JOBS=NUMBER     parallel test suites (default: processors + 2)
#:   SUITE_SECONDS=NUMBER seconds before a test suite is stopped (default: 900, or four times what it states)
#:   TORTURE_SECONDS=NUMBER, HOST_SECONDS=NUMBER
#:                        seconds of test-torture and test-host (default: 600)
