# shellcheck shell=bash
# A compiler for musl from Debian's packages: musl_cc FOLDER makes FOLDER/gcc, which compiles and links with musl.
#
# musl-tools has musl's headers and libraries, and specs for gcc. The kernel's headers are added here, and zlib: where Ruby
# uses it, the static library of zlib1g-dev calls no function that only glibc has. Debian's libgcc is for glibc: find_object.c
# has the one function that musl lacks. As other compilers for musl do, this one makes .eh_frame_hdr.
# With -Bsymbolic a static library that is not position independent fits into an extension.
musl_cc() {
    local dir=$1 machine specs
    machine=$(gcc -dumpmachine)
    specs=/usr/lib/${machine%%-*}-linux-musl/musl-gcc.specs
    mkdir -p "$dir/kernel" "$dir/include" "$dir/lib"
    ln -sfn /usr/include/linux /usr/include/asm-generic "/usr/include/$machine/asm" "$dir/kernel"
    ln -sfn /usr/include/zlib.h /usr/include/zconf.h "$dir/include"
    ln -sfn "/usr/lib/$machine/libz.a" "$dir/lib"
    sed -e "s|-isystem include%s|& -isystem $dir/include -idirafter $dir/kernel|" \
        -e "s|^libgcc.a%s.*|& $dir/lib/libfind.a|" -e "s|^-L/usr/lib/.*|& -L$dir/lib|" \
        -e "s|^-dynamic-linker .*|& --eh-frame-hdr --build-id %{shared:-Bsymbolic}|" "$specs" >"$dir/specs"
    # Not by way of ccache, which looks for the next gcc on the PATH.
    printf '#!/bin/sh\nexec /usr/bin/%s-gcc "$@" -specs %s\n' "$machine" "$dir/specs" >"$dir/gcc"
    chmod +x "$dir/gcc"
    "$dir/gcc" -O2 -fPIC -c "$(dirname "${BASH_SOURCE[0]}")/find_object.c" -o "$dir/find_object.o"
    ar rcs "$dir/lib/libfind.a" "$dir/find_object.o"
}
