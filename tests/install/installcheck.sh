#!/bin/sh
# The installed tree (under DESTDIR, if given): a consumer through pkg-config, engine-probe, no traces of the build.
#   installcheck.sh DESTDIR LIBDIR PLUGINDIR BINDIR DOCDIR BUILDDIR SRCDIR CC [CFLAGS]
set -eu
dest=$1 libdir=$2 plugindir=$3 bindir=$4 docdir=$5 build=$6 src=$7 cc=$8 cflags=${9:-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "installcheck: $*" >&2; exit 1; }

unset ENGINE_PLUGIN_PATH ENGINE_PLUGINS || true
PKG_CONFIG_PATH=$dest$libdir/pkgconfig
PKG_CONFIG_SYSROOT_DIR=$dest
LD_LIBRARY_PATH=$dest$libdir
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH

# whole paths: a prefix may begin like the build folder (/home/me/build and /home/me/build-inst)
named=$(cat "$dest$libdir"/pkgconfig/libengine*.pc | tr '= ' '\n\n' | sed 's/^-[LI]//' |
    awk -v build="$build" '$0 == build || index($0, build "/") == 1')
test -z "$named" || fail "a .pc file names the build folder:" $named
test -z "$(find "$dest$plugindir" -name '*.la')" || fail "$plugindir holds .la files"
built() { test -f "$build/plugins/$1/.libs/$1.so"; }
for name in cpu opencl meta null; do
    if built $name; then
        test -f "$dest$plugindir/$name.so" || fail "the plugin $name is not in $plugindir"
    fi
done
if built cpu && built meta; then device=cpu/2; elif built cpu; then device=cpu; else device=; fi
test "$(pkg-config --variable=plugindir libengine | sed "s|^$dest||")" = "$plugindir" || fail "libengine.pc: wrong plugindir"

$cc $cflags $(pkg-config --cflags libengine-lm) "$src/tests/install/consumer.c" -o "$tmp/consumer" $(pkg-config --libs libengine-lm)
"$tmp/consumer" ${device:+cpu} || fail "the consumer does not run"
for name in split generate; do
    $cc $cflags $(pkg-config --cflags libengine-lm) "$src/examples/$name.c" -o "$tmp/$name" $(pkg-config --libs libengine-lm) -lm
done
if test "$device"; then
    "$tmp/split" $device > /dev/null || fail "examples/split.c does not run"
    "$tmp/generate" "$src/tests/data/tiny-hybrid-f16.gguf" $device "The king" 5 > /dev/null || fail "examples/generate.c does not run"
    "$dest$bindir/engine-probe" cpu > /dev/null || fail "engine-probe does not open the cpu device"
fi
for name in README.md LICENSE NEWS; do
    cmp -s "$src/$name" "$dest$docdir/$name" || fail "$docdir/$name is not installed"
done
export top_srcdir="$src" top_builddir="$build" CC="$cc"
sh "$src/tests/install/template.sh" "$dest$docdir/examples/plugin" "$dest$bindir/engine-probe" > "$tmp/template" ||
    fail "tests/install/template.sh ends with an error"
! grep '^not ok' "$tmp/template" || fail "the installed template of a plugin does not do"
# a moved tree still finds its plugins: beside the library
test -z "$device" || "$dest$bindir/engine-probe" --check || test $? = 2 || fail "engine-probe --check finds no device"
echo "installcheck: the installed tree works"
