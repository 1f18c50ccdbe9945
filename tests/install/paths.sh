#!/bin/sh
# installcheck's own eyes: a .pc file that names the build folder is seen, a prefix that only begins like it is not one.  TAP.
set -u
. "${top_srcdir:-.}/tests/tap.sh"

# complains PREFIX TEXT: with that prefix, and TEXT in the .pc file, installcheck for the build in $tmp/build says $tmp/log
complains()
{
    mkdir -p "$1/lib/pkgconfig" "$1/lib/libengine/3"
    printf 'prefix=%s\nLibs: -L${prefix}/lib %s\n' "$1" "$2" > "$1/lib/pkgconfig/libengine.pc"
    sh "$src/tests/install/installcheck.sh" '' "$1/lib" "$1/lib/libengine/3" "$1/bin" "$1/share/doc" "$tmp/build" "$src" cc > "$tmp/log" 2>&1
    grep -q 'names the build folder' "$tmp/log"
}
! complains "$tmp/build-inst" '-lengine' && test -s "$tmp/log"
result $? "a prefix beside the build folder: $(cat "$tmp/log")"
complains "$tmp/inst" "-L$tmp/build/.libs -lengine"
result $? "a path inside the build folder is seen"
complains "$tmp/inst" "-I$tmp/build"
result $? "the build folder itself is seen"
finish
