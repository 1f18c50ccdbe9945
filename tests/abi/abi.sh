#!/bin/sh
# The binary interface of major 3: programs and plugins that were built once go on working.
#
# tests/abi/3.0/ has a host and a plugin (host.c and plugins/null as they were then), as binaries for x86_64-linux-gnu, and
# what abidw says of the libraries of that day.  Nothing in that folder is ever changed; the next minor may get one of its
# own, made by `make keep-abi` (which says what it wrote).  What a later library may do is described in docs/decisions.md: append.
. "${top_srcdir:-.}/tests/tap.sh"
kept=$src/tests/abi/3.0
plugins=$out/plugins

machine=$(uname -sm)
if test "$machine" != "Linux x86_64" || ! test -e /lib64/ld-linux-x86-64.so.2; then
    skip "binaries of 3.0" "they are for x86_64-linux-gnu, this is $machine"
elif case $ENG_TEST_CFLAGS in *sanitize*) true ;; *) false ;; esac; then
    skip "binaries of 3.0" "libraries with sanitizers need hosts with them"
elif ! has cpu || ! has meta; then
    skip "binaries of 3.0" "they compute on cpu and cpu/2, and this build lacks a plugin for that"
else
    dir=$out/tests/abi
    mkdir -p "$dir/plugin"
    # tar and packagers may lose modes: a copy that can be run
    cp "$kept/x86_64-linux-gnu/host" "$dir/kept-host" && chmod 755 "$dir/kept-host"
    cp "$kept/x86_64-linux-gnu/null.so" "$dir/plugin/null.so"
    run()
    {
        (cd "$dir" && LD_LIBRARY_PATH=$out/.libs ENGINE_PLUGIN_PATH=$1 ./kept-host null "$src/tests/data/tiny-hybrid-f16.gguf")
    }
    text=$(run "$plugins/null/.libs:$plugins/cpu/.libs:$plugins/meta/.libs" 2>&1)
    echo "$text" | sed 's/^/# /'
    echo "$text" | grep -q '^kept host: done$'
    result $? "the host of 3.0 with the library and the plugins of today"
    text=$(run "$dir/plugin:$plugins/cpu/.libs:$plugins/meta/.libs" 2>&1)
    echo "$text" | sed 's/^/# /'
    echo "$text" | grep -q '^kept host: done$'
    result $? "the plugin of 3.0 with the library of today"
    ENGINE_PLUGIN_PATH=$dir/plugin "$out/engine-probe" --ops=null 2>/dev/null | grep -q '^ssm_scan f32: no: the null device'
    result $? "the plugin of 3.0 is asked for an op that came after it, and has it not"
fi

# Versions of symbols: those of 3.0 keep theirs, whatever has no list is the last version's; who was built without goes on (above).
for lib in libengine libengine-lm; do
    so=$out/.libs/$lib.so
    version=$(echo $lib | tr a-z- A-Z_)_3.
    if ! nm -D --with-symbol-versions "$so" 2>/dev/null | grep -q "@@$version"; then
        if grep -q "^HAVE_LD_VERSION_SCRIPT_TRUE=''" "$out/config.log" 2>/dev/null; then
            result 1 "$lib: symbols have versions"
        else
            skip "$lib: symbols have versions" "the linker makes none"
        fi
        continue
    fi
    grep -o "elf-symbol name='eng_[a-z0-9_]*'" "$kept/$lib.abi" | sed "s/.*'\(.*\)'/\1@@${version}0/" | sort > "$tmp/want"
    nm -D --defined-only --with-symbol-versions "$so" | sed -n 's/.* \(eng_.*\)/\1/p' | sort > "$tmp/all"
    grep "@@${version}0\$" "$tmp/all" | diff "$tmp/want" - > "$tmp/log"
    result $? "$lib: the $(wc -l < "$tmp/want") symbols of 3.0 have its version, and no other has"
    grep -v "@@$version[0-9]" "$tmp/all" > "$tmp/log"
    test ! -s "$tmp/log"
    result $? "$lib: each of the $(wc -l < "$tmp/all") symbols has a version"
done

# What may not happen to what there was; that something was added is no fault.
broken='deletion|offset changed|[1-9][0-9]* Removed|from value|\[D\]|parameter .* changed|return type changed|type .* changed:'
for lib in libengine libengine-lm; do
    so=$out/.libs/$lib.so
    if ! command -v abidiff >/dev/null 2>&1; then
        skip "$lib: types and symbols" "there is no abidiff"
    elif ! test -e "$so" || ! objdump -h "$so" 2>/dev/null | grep -q '\.debug_info'; then
        skip "$lib: types and symbols" "the library has no debugging information (-g)"
    else
        report=$(abidiff --harmless --leaf-changes-only "$kept/$lib.abi" "$so" 2>&1)
        status=$?
        echo "$report" | sed 's/^/# /' | head -60
        echo "$report" | grep -Eq "$broken"
        bad=$?
        test $((status & 11)) = 0 && test $bad != 0
        result $? "$lib: types and symbols of 3.0 are still there, as they were (abidiff: $status)"
    fi
done
finish
