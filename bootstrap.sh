#!/bin/sh
# From a fresh clone to a running engine, on Debian 12 and its relatives.
#
#   ./bootstrap.sh run [ARGUMENTS]   build, show the devices, let a model write text
#                                    (ARGUMENTS go to engine-generate)
#   ./bootstrap.sh chat [ARGUMENTS]  build, fetch SmolLM2 (93 MB, once), open a conversation
#   ./bootstrap.sh check             build, then run every test
#   ./bootstrap.sh build             only build
#   ./bootstrap.sh packages [check]  what build and run need, or check: installs nothing
#
# Everything is built in ./build; what is done already is not done again.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
build=$here/build
log=$build/bootstrap.log

packages="build-essential autoconf automake libtool libltdl-dev libpcre2-dev libjansson-dev libedit-dev libhwloc-dev pkg-config ocl-icd-opencl-dev opencl-headers pocl-opencl-icd"
test_packages="check clinfo valgrind abigail-tools libc6-dbg"

say() { printf '%s\n' "bootstrap: $*" >&2; }
die() { say "$*"; exit 1; }

case $here in
    *[[:space:]]*) die "'$here' has a space in it, which is too much for libtool; move the sources, or make a link without one" ;;
esac

# logged COMMAND...: what it says goes into the log; its end is shown if it fails.
logged()
{
    mkdir -p "$build"
    printf '\n+ %s\n' "$*" >> "$log"
    "$@" >> "$log" 2>&1 || { code=$?; tail -n 20 "$log" >&2; say "failed: $*; all of it is in $log"; return $code; }
}

# Installs what is missing; asks nothing, and runs apt only if something is.
install_packages()
{
    if ! command -v dpkg-query >/dev/null 2>&1; then
        for tool in cc make autoreconf libtoolize pkg-config; do
            command -v $tool >/dev/null 2>&1 || die "$tool is missing; install the equivalents of:" $packages
        done
        return 0
    fi
    missing=
    for package in $packages; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
            installed) ;;
            *) missing="$missing $package" ;;
        esac
    done
    test -n "$missing" || return 0
    say "installing:$missing"
    if test "$(id -u)" = 0; then
        root=
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        root=sudo
    else
        die "run me as root once, or: apt-get install$missing"
    fi
    logged $root env DEBIAN_FRONTEND=noninteractive apt-get update -q
    # shellcheck disable=SC2086
    logged $root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}

make_configure() { cd "$here" && autoreconf -fi; }
configure() { cd "$build" && ../configure --quiet; }
make_all() { cd "$build" && make -s -j"$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)" all; }

# Was it configured before Check was there?
lacks_tests() { grep -q "^HAVE_CHECK_TRUE='#'" "$build/config.log" 2>/dev/null && pkg-config --exists check; }

build()
{
    install_packages
    top_srcdir=$here "$here/tests/layering/file-lists.sh" --write
    if test ! -x "$here/configure" || test ! -f "$here/Makefile.in" || test "$here/configure.ac" -nt "$here/configure"; then
        say "making configure"
        (logged make_configure)
    fi
    if test ! -f "$build/config.status" || lacks_tests; then
        say "configuring in $build"
        (logged configure)
    fi
    say "building; what the compiler says is in $log"
    (logged make_all)
}

# The plugins and programs of this tree, and no others.
tree_environment()
{
    ENGINE_PLUGIN_PATH=
    for name in cpu opencl meta null; do
        if test -d "$build/plugins/$name/.libs"; then
            ENGINE_PLUGIN_PATH=$ENGINE_PLUGIN_PATH${ENGINE_PLUGIN_PATH:+:}$build/plugins/$name/.libs
        fi
    done
    export ENGINE_PLUGIN_PATH
}

# All accelerators together; the only one, or the first OpenCL device, in halves; else the processor in halves.
choose_device()
{
    "$build/engine-probe" --format=tsv 2>/dev/null | awk -F '\t' '
        $1 ~ /^opencl:/ { if (!any) any = $1
                          if ($2 == "gpu" || $2 == "accelerator") { n++; all = all (n > 1 ? "+" : "") $1 } }
        END { if (n > 1) print all; else if (n == 1) print all "/2"; else if (any) print any "/2"; else print "cpu/2" }'
}

run()
{
    tree_environment
    # with code 2 a plugin was rejected, and the reason has been printed: the others may do
    "$build/engine-probe" || test $? = 2 || die "no usable device"
    device=$(choose_device)
    prompt="hacker: n."
    printf '\nThe model tests/data/tiny-hybrid-f16.gguf on %s continues "%s":\n\n' "$device" "$prompt"
    "$build/engine-generate" -m "$here/tests/data/tiny-hybrid-f16.gguf" -d "$device" -p "$prompt" -n 200 \
        --temp 0.7 --top-k 40 --seed 1 "$@"
}

# On the device that engine-generate takes by itself.
chat()
{
    tree_environment
    model=$(sh "$here/examples/try-smollm2.sh" --fetch) # without a network it says so
    exec "$build/engine-generate" -m "$model" "$@"
}

# What the tests that failed have said about it.
show_failed()
{
    find "$build" -name '*.trs' -exec grep -lE '^:test-result: (FAIL|XPASS|ERROR)' {} + | while read -r result; do
        log=${result%.trs}.log
        printf '\n%s:\n' "${log#"$build"/}"
        grep -E -B 8 '^(not ok|Bail out)' "$log" || tail -n 30 "$log"
    done
}

# The last line says how many tests there were, whatever happened.
check()
{
    find "$build" -name '*.trs' -exec rm -f {} +
    code=0
    (cd "$build" && make -s -k -j"$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)" check TESTS=) || code=$?
    # two test programs at a time: while one makes a device's driver compile, which takes one core, the other runs
    (cd "$build" && make -s -k -j2 check) || { code=$?; show_failed; }
    find "$build" -name '*.trs' -exec cat {} + | awk -v code="$code" '
        /^:test-result: (PASS|XFAIL)/ { passed++ }
        /^:test-result: (FAIL|XPASS|ERROR)/ { failed++; sub(/^:test-result: /, ""); print }
        /^:test-result: SKIP/ { skipped++ }
        END { if (code != 0 && !failed) failed++
              if (passed + failed == 0) failed++
              printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
              exit failed > 0 }'
}

command=${1:-}
test $# -eq 0 || shift
case $command in
    run) build; run "$@" ;;
    chat) build; chat "$@" ;;
    check) packages="$packages $test_packages"; build; check ;;
    build) build ;;
    packages)
        test "${1:-}" != check || packages="$packages $test_packages"
        echo "$packages" ;;
    *)  echo "usage: ./bootstrap.sh run [ARGUMENTS] | chat [ARGUMENTS] | check | build | packages [check]" >&2
        exit 64 ;;
esac
