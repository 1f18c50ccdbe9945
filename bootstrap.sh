#!/bin/sh
# From a fresh clone to a running engine, on Debian 12 and its relatives.
#
#   ./bootstrap.sh run [ARGUMENTS]   build, show the devices, let a model write text
#                                    (ARGUMENTS go to engine-generate)
#   ./bootstrap.sh check             build, then run every test
#   ./bootstrap.sh build             only build
#
# Everything is built in ./build; what is done already is not done again.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
build=$here/build

packages="build-essential autoconf automake libtool libltdl-dev pkg-config check
ocl-icd-opencl-dev opencl-headers pocl-opencl-icd clinfo valgrind libc6-dbg"

say() { printf '%s\n' "bootstrap: $*" >&2; }
die() { say "$*"; exit 1; }

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
    $root env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2
    # shellcheck disable=SC2086
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >&2
}

build()
{
    install_packages
    if test ! -x "$here/configure" || test ! -f "$here/Makefile.in" || test "$here/configure.ac" -nt "$here/configure"; then
        say "making configure"
        (cd "$here" && autoreconf -fi) >&2
    fi
    mkdir -p "$build"
    if test ! -f "$build/config.status"; then
        say "configuring in $build"
        (cd "$build" && ../configure --quiet) >&2
    fi
    jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
    (cd "$build" && make -s -j"$jobs" all) >&2
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
    # one test program at a time: they use all cores themselves
    (cd "$build" && make -s -k check) || { code=$?; show_failed; }
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
    check) build; check ;;
    build) build ;;
    *)  echo "usage: ./bootstrap.sh run [ARGUMENTS] | check | build" >&2
        exit 64 ;;
esac
