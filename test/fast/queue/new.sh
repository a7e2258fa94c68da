# shellcheck shell=bash
# A release that is not pinned yet: found, tried, and taken or reported. On a toy queue. Part of test/fast/queue/run.

: "${toy:?set by apply.sh}"

# new_toy: a toy that is a clone of a repository, with a Makefile that builds and tests nothing, and a stand-in for gh.
new_toy() {
    make_toy "$toy"
    # shellcheck disable=SC2016 # make's own
    printf '.PHONY: build test\nbuild test:\n\t@echo making $@ of $(RUBY_VERSION); [ "$@" != "$(FAILS)" ]\n' >"$toy/Makefile"
    printf '#!/bin/sh\nprintf "%%s\\n" "$*" >>%s/gh.log\ncase "$*" in *--body-file*) cat >>%s/gh.log ;; esac\n' "$toy" "$toy" >"$toy/gh"
    chmod +x "$toy/gh"
    git init -q --bare "$toy/origin.git"
    printf '%s\n' origin.git gh gh.log build distfiles toy-1 'ruby-*' new >"$toy/.gitignore"
    git -C "$toy" init -q -b main
    git -C "$toy" add -A
    git -C "$toy" -c user.name=a -c user.email=a@localhost commit -qm toy
    git -C "$toy" remote add origin "$toy/origin.git"
}

# new_release NUMBER SED-SCRIPT: the archive of a release, with an edited gc.c; prints its path.
new_release() {
    local root=$toy/ruby-$1
    cp -r "$toy/toy-1" "$root"
    sed -i "$2" "$root/gc.c"
    mkdir -p "$root/include/ruby"
    printf '#define RUBY_API_VERSION_MAJOR 3\n#define RUBY_API_VERSION_MINOR 4\n' >"$root/include/ruby/version.h"
    echo "#define RUBY_VERSION_TEENY ${1##*.}" >"$root/version.h"
    mkdir -p "$toy/new"
    tar -C "$toy" -czf "$toy/new/ruby-$1.tar.gz" "ruby-$1"
    echo "$toy/new/ruby-$1.tar.gz"
}

# new_ruby STATUS ARGUMENT…
new_ruby() {
    local wanted=$1 status=0
    shift
    said=$("$toy/tool/new-ruby" "$@" 2>&1) || status=$?
    echo "$said"
    [ "$status" -eq "$wanted" ]
}
pinned() { grep -qx "version $1" "$toy/upstream/3.4"; }

passes_and_is_pinned() {
    new_toy
    new_ruby 0 3.4.7 "$(new_release 3.4.7 '1i one more line')" && pinned 3.4.7 && grep -q "'test' succeeded" <<<"$said" &&
        grep -q "^tarball ruby-3.4.7.tar.gz $(toy_sha "$toy/new/ruby-3.4.7.tar.gz") https://" "$toy/upstream/3.4"
}
conflict_is_named() {
    new_toy
    new_ruby 3 3.4.7 "$(new_release 3.4.7 's/^19$/nineteen/')" && ! pinned 3.4.7 &&
        grep -q 'gc-hook.patch does not apply exactly to Ruby 3.4.7 (hunk 1 of gc.c)' <<<"$said"
}
failing_step_has_a_status() { new_toy && FAILS='test' new_ruby 5 3.4.7 "$(new_release 3.4.7 '')" && FAILS='build' new_ruby 4 3.4.7 "$toy/new/ruby-3.4.7.tar.gz"; }
wrong_arguments_are_refused() {
    new_toy
    new_ruby 2 3.4.8 "$(new_release 3.4.7 '')" && [[ $said == *'is of Ruby 3.4.7, not of 3.4.8' ]] &&
        new_ruby 2 3.9.1 "$toy/new/ruby-3.4.7.tar.gz" && new_ruby 2 3.4.7 "$toy/no-such-file" && new_ruby 2 three "$toy/new/ruby-3.4.7.tar.gz"
}

# The newest release of the series and the newest tag of the library, and nothing else.
new_versions_are_found() {
    new_toy
    printf '%s\n' 'name url sha1' 'ruby-3.4.7 https://example.org/ruby-3.4.7.tar.gz x' 'ruby-3.4.10 https://example.org/ruby-3.4.10.tar.gz x' \
        'ruby-3.4.10 https://example.org/ruby-3.4.10.zip x' 'ruby-3.5.0-preview1 https://example.org/ruby-3.5.0-preview1.tar.gz x' >"$toy/new-index"
    git init -q "$toy/new/thing"
    git -C "$toy/new/thing" -c user.name=a -c user.email=a@localhost commit -q --allow-empty -m thing
    for tag in v1.2.3 v1.2.11 v2.0 v1.3.0-rc1; do git -C "$toy/new/thing" tag $tag; done
    printf 'version 1.2.9\nsource %s v1.\n' "$toy/new/thing" >"$toy/upstream/thing"
    export RUBY_INDEX=file://$toy/new-index
    local found json
    found=$("$toy/tool/new-versions") && json=$("$toy/tool/new-versions" --json) || return
    echo "$found" "$json"
    [ "$found" = "3.4 3.4.10 https://example.org/ruby-3.4.10.tar.gz"$'\n'"thing 1.2.11 $toy/new/thing" ] &&
        jq_free "$json" && printf 'version 3.4.10\n' >>"$toy/upstream/3.4" && printf 'version 1.2.11\nsource %s v1.\n' "$toy/new/thing" >"$toy/upstream/thing" &&
        [ "$("$toy/tool/new-versions" --json)" = '[]' ]
}
# What cannot be read is an error: otherwise a release would be missed.
unreadable_is_an_error() {
    new_toy
    echo 'ruby-3.4.7 https://example.org/ruby-3.4.7.tar.gz x' >"$toy/new-index"
    export RUBY_INDEX=file://$toy/new-index
    printf 'version 1.2.9\nsource %s v1.\n' "$toy/no-repository" >"$toy/upstream/thing"
    ! said=$("$toy/tool/new-versions" 2>&1) && grep "cannot read the tags of $toy/no-repository" <<<"$said" &&
        rm "$toy/upstream/thing" && "$toy/tool/new-versions" && echo 'name url sha1' >"$toy/new-index" &&
        ! "$toy/tool/new-versions" && rm "$toy/new-index" && ! "$toy/tool/new-versions"
}
jq_free() { perl -MJSON::PP -e 'exit(@{decode_json(shift)} == 2 ? 0 : 1)' "$1"; }

# take NAME VERSION FILE, with the stand-in for gh.
take() { GH=$toy/gh "$toy/tool/take-version" "$1" "$2" "file://$3" && cat "$toy/gh.log"; }
passing_release_is_proposed() {
    new_toy
    take 3.4 3.4.7 "$(new_release 3.4.7 '')" && grep -q '^pr create --head ruby-3.4.7 --title Ruby 3.4.7' "$toy/gh.log" &&
        git -C "$toy/origin.git" show ruby-3.4.7:upstream/3.4 | grep -qx 'version 3.4.7' && [ -z "$(git -C "$toy" status --porcelain)" ]
}
proposed_release_is_left() {
    local branch
    passing_release_is_proposed && git -C "$toy" switch -q main && rm "$toy/gh.log" && take 3.4 3.4.7 "$toy/no-such-file"
    branch=$(git -C "$toy" branch --show-current)
    [ ! -e "$toy/gh.log" ] && [ "$branch" = main ]
}
conflict_is_reported() {
    new_toy
    take 3.4 3.4.7 "$(new_release 3.4.7 's/^19$/nineteen/')" &&
        grep -q "^issue create --title Ruby 3.4.7: 'apply' failed" "$toy/gh.log" && grep -q '^apply: .*hunk 1 of gc.c' "$toy/gh.log" && ! grep -q '^pr ' "$toy/gh.log"
}

# new_library: a toy with a library whose archives lie in $toy/new, in a repository that has the tag of the newest one.
new_library() {
    local tag
    new_toy
    mkdir -p "$toy/new" "$toy/patches/jemalloc"
    for tag in 1.2.9 1.2.11; do
        mkdir -p "$toy/new/thing-$tag" && seq 1 40 >"$toy/new/thing-$tag/thing.c"
        tar -C "$toy/new" -czf "$toy/new/thing-$tag.tar.gz" "thing-$tag"
    done
    git init -q "$toy/new/thing"
    git -C "$toy/new/thing" -c user.name=a -c user.email=a@localhost commit -q --allow-empty -m thing
    git -C "$toy/new/thing" -c user.name=a -c user.email=a@localhost tag -am 'with a commit of its own' v1.2.11
    commit=$(git -C "$toy/new/thing" rev-parse HEAD)
    printf '%s\n' '# A comment.' 'version 1.2.9' 'revision 1.2.9-0-g0' "source $toy/new/thing v1.2." \
        "tarball thing-1.2.9.tar.gz 00 file://$toy/new/thing-1.2.9.tar.gz" 'tarball thing_1.2.9.orig.tar.gz 00 debian:pool/thing_1.2.9.orig.tar.gz' >"$toy/upstream/thing"
    # shellcheck disable=SC2016 # for the script to expand
    printf '#!/bin/sh\necho "making $*"; [ "$1" != "${FAILS:-}" ]\n' >"$toy/tool/release"
    chmod +x "$toy/tool/release"
    # shellcheck disable=SC2016 # for make to expand
    printf 'test-release:\n\t@[ "$@" != "$(FAILS)" ]\n' >>"$toy/Makefile"
    git -C "$toy" add -A && git -C "$toy" -c user.name=a -c user.email=a@localhost commit -qm thing
}
library_is_pinned() {
    new_library && "$toy/tool/new-library" thing 1.2.11 && diff "$toy/upstream/thing" - <<EOT
# A comment.
version 1.2.11
revision 1.2.11-0-g$commit
source $toy/new/thing v1.2.
tarball thing-1.2.11.tar.gz $(toy_sha "$toy/new/thing-1.2.11.tar.gz") file://$toy/new/thing-1.2.11.tar.gz
EOT
}
# library_fails STATUS ARGUMENT…
library_fails() {
    local wanted=$1 status=0
    shift
    said=$("$toy/tool/new-library" "$@" 2>&1) || status=$?
    echo "$said"
    [ "$status" -eq "$wanted" ]
}
library_steps_have_statuses() {
    new_library && library_fails 2 nothing 1.2.11 && library_fails 2 3.4 3.4.7 && library_fails 3 thing 1.2.12 &&
        grep -q 'its tag cannot be read' <<<"$said" && grep -qx 'version 1.2.9' "$toy/upstream/thing" &&
        FAILS=tarball library_fails 4 thing 1.2.11 && FAILS=test-release library_fails 5 thing 1.2.11
}
library_is_proposed() {
    new_library && take thing 1.2.11 "$toy/new/thing" && grep -q '^pr create --head thing-1.2.11 --title thing 1.2.11' "$toy/gh.log" &&
        git -C "$toy/origin.git" show thing-1.2.11:upstream/thing | grep -qx 'version 1.2.11'
}
library_is_reported() { new_library && FAILS=tarball take thing 1.2.11 "$toy/x" && grep -q "^issue create --title thing 1.2.11: 'build' failed" "$toy/gh.log"; }
# Of jemalloc the patch is named as well.
jemalloc_patch_is_named() {
    new_library && mv "$toy/upstream/thing" "$toy/upstream/jemalloc" && sed 's/^ 20$/ twenty/' "$toy/patches/3.4/gc-hook.patch" >"$toy/patches/jemalloc/a-hook.patch" &&
        sed -i 's/gc\.c/thing.c/' "$toy/patches/jemalloc/a-hook.patch" && echo a-hook.patch >"$toy/patches/jemalloc/series" &&
        library_fails 3 jemalloc 1.2.11 && grep 'a-hook.patch does not apply exactly to jemalloc 1.2.11 (hunk 1 of thing.c)' <<<"$said" &&
        grep -qx 'version 1.2.9' "$toy/upstream/jemalloc"
}

# Each suite of an hour or two is in one part, and none is longer than the time allows. The others have jobs of their own: each
# configuration of MRI's tests, each check build, and the zoo.
suites_are_divided() {
    local parts part all=
    parts=$("$TOP/tool/suites" --parts 5h)
    [[ $parts =~ ^\[[1-9][0-9,]*\]$ ]] || return
    for part in $(tr -d '[]' <<<"${parts//,/ }"); do all+=$("$TOP/tool/suites" --part "$part" 5h)$'\n'; done
    diff <(sed '/^$/d' <<<"$all" | sort) <(cd "$TOP" && grep -H '^# Seconds:' test/*/*/run | sed 's/:# Seconds://' | awk '$2 <= 9000 { print $1 }' | sort)
}

long_suites_have_jobs() {
    local night=$TOP/.github/workflows/nightly.yml name
    diff <(awk '$2 > 9000 { print $1 }' <(cd "$TOP" && grep -H '^# Seconds:' test/*/*/run | sed 's/:# Seconds://')) \
        <(printf '%s\n' test/all/checks/run test/all/mri-full/run test/all/zoo/run) || return
    while read -r name; do grep -F "test/all/mri/run" "$night" | grep -F "'*/$name'" || return; done < <(awk '/^[a-z]/ { print $1 }' "$TOP/test/all/mri/configurations")
    for name in threads check debug asan ubsan; do grep "test/all/checks/run.* $name\b" "$night" || return; done
    grep 'command: .*test/all/zoo/run' "$night"
}

check 'a new release that passes is pinned' passes_and_is_pinned
check 'of one with a conflict the patch and the hunk are named, and it is not pinned' conflict_is_named
check 'a build or test that fails has a status of its own' failing_step_has_a_status
check 'a tarball of another release, an unknown series and a missing file are refused' wrong_arguments_are_refused
check 'releases of Ruby and of libraries that are not pinned yet are found' new_versions_are_found
check 'a repository or an index that cannot be read is an error' unreadable_is_an_error
check 'a release that passes becomes a pull request' passing_release_is_proposed
check 'a release that has its pull request is left alone' proposed_release_is_left
check 'a conflict becomes an issue that names the patch and the hunk' conflict_is_reported
check 'a new release of a library is pinned, with the commit of its tag' library_is_pinned
check 'each step with a library has a status of its own' library_steps_have_statuses
check 'of a release of jemalloc with a conflict the patch and the hunk are named' jemalloc_patch_is_named
check 'a release of a library that passes becomes a pull request' library_is_proposed
check 'a release of a library that does not build becomes an issue' library_is_reported
check 'each suite is in one part of the night' suites_are_divided
check 'a suite that is longer than a part has jobs in the night' long_suites_have_jobs
