#!/bin/sh
# Says what a build without one of the plugins leaves untested.  TAP.
set -u
. "${top_srcdir:-.}/tests/tap.sh"
for plugin in cpu opencl meta; do
    if has $plugin; then
        result 0 "tests that need the plugin $plugin are run"
    else
        skip "tests that need the plugin $plugin" "it was not built: configure --disable-$plugin, or what it needs is missing"
    fi
done
has null
result $? "the plugin null, which tests of the core use, is always built"
finish
