# shellcheck shell=bash
# The configure of the source archive: what it passes to Ruby's own, and when it builds jemalloc. Part of test/fast/queue/run.

# An unpacked archive whose programs print their arguments, a line for each.
source_toy() {
    source_top=$SCRATCH/source
    rm -rf "$source_top"
    mkdir -p "$source_top/jemalloc" "$source_top/out"
    sed 's/@REVISION@/1.2.3-0-g0/' "$TOP/tool/source-configure" >"$source_top/configure"
    printf '#!/bin/sh\nprintf "%%s\\n" "$@"\n' >"$source_top/configure.ruby"
    # shellcheck disable=SC2016 # for the script to expand
    printf '#!/bin/sh\n[ -z "$FAILS" ] || { echo it went wrong; exit 1; }\nprintf "%%s\\n" "$@" "LD=$LD" >>../built\n>"$1"\n' >"$source_top/jemalloc/jemalloc-object"
    chmod +x "$source_top"/{configure,configure.ruby,jemalloc/jemalloc-object}
}
# configures ARGUMENT…: in a folder of its own, $source_top/out; what Ruby's configure got is in $got.
configures() { got=$(cd "$source_top/out" && ../configure "$@"); }

builds_jemalloc_once() {
    source_toy && configures --prefix='/a folder' 'CC=gcc -m64' LD=ld.bfd --host=aarch64-linux-gnu XLDFLAGS=-Wl,-z,now && configures --prefix=/b || return
    echo "$got"
    [ "$got" = $'--prefix=/b\n--with-baseruby=no\nXLDFLAGS=jemalloc.build/jemalloc.o' ] &&
        diff "$source_top/out/built" <(printf '%s\n' jemalloc.o 1.2.3-0-g0 --host=aarch64-linux-gnu 'CC=gcc -m64' LD=ld.bfd)
}
passes_arguments() {
    source_toy && configures --prefix='/a folder' --with-baseruby=/usr/bin/ruby XLDFLAGS=-Wl,-z,now || return
    echo "$got"
    [ "$(tail -n +2 <<<"$got")" = $'--prefix=/a folder\n--with-baseruby=/usr/bin/ruby\nXLDFLAGS=-Wl,-z,now\nXLDFLAGS=jemalloc.build/jemalloc.o -Wl,-z,now' ]
}
leaves_jemalloc_out() {
    source_toy && configures --without-jemalloc --enable-shared && [ ! -e "$source_top/out/jemalloc.build" ] &&
        [ "$got" = $'--without-jemalloc\n--enable-shared\n--with-baseruby=no' ]
}
shows_what_failed() { source_toy && ! said=$(FAILS=yes configures --prefix=/a 2>&1) && grep -qx 'it went wrong' <<<"$said" && ! grep -e --prefix <<<"$said"; }

check 'the configure of the source archive builds jemalloc once, for the compiler that is given' builds_jemalloc_once
check 'it passes all arguments on, and adds to XLDFLAGS' passes_arguments
check 'with --without-jemalloc it builds none' leaves_jemalloc_out
check 'where jemalloc does not build, it shows why, and goes no further' shows_what_failed
