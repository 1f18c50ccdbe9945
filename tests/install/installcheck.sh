#!/bin/sh
# The installed tree (under DESTDIR, if given): a consumer through pkg-config, engine-probe, no traces of the build.
#   installcheck.sh DESTDIR LIBDIR PLUGINDIR BINDIR BUILDDIR SRCDIR CC [CFLAGS]
set -eu
dest=$1 libdir=$2 plugindir=$3 bindir=$4 build=$5 src=$6 cc=$7 cflags=${8:-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "installcheck: $*" >&2; exit 1; }

unset ENGINE_PLUGIN_PATH ENGINE_PLUGINS || true
PKG_CONFIG_PATH=$dest$libdir/pkgconfig
PKG_CONFIG_SYSROOT_DIR=$dest
LD_LIBRARY_PATH=$dest$libdir
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH

grep -l "$build" "$dest$libdir"/pkgconfig/libengine*.pc && fail "a .pc file names the build folder"
test -z "$(find "$dest$plugindir" -name '*.la')" || fail "$plugindir holds .la files"
test -f "$dest$plugindir/cpu.so" || fail "the cpu plugin is not in $plugindir"
test "$(pkg-config --variable=plugindir libengine | sed "s|^$dest||")" = "$plugindir" || fail "libengine.pc: wrong plugindir"

$cc $cflags $(pkg-config --cflags libengine-lm) "$src/tests/install/consumer.c" -o "$tmp/consumer" $(pkg-config --libs libengine-lm)
"$tmp/consumer" || fail "the consumer does not run"
for name in split generate; do
    $cc $cflags $(pkg-config --cflags libengine-lm) "$src/examples/$name.c" -o "$tmp/$name" $(pkg-config --libs libengine-lm) -lm
done
"$tmp/split" cpu/2 > /dev/null || fail "examples/split.c does not run"
"$tmp/generate" "$src/tests/data/tiny-hybrid-f16.gguf" cpu/2 "The king" 5 > /dev/null || fail "examples/generate.c does not run"
# a moved tree still finds its plugins: beside the library
"$dest$bindir/engine-probe" --check || test $? = 2 || fail "engine-probe --check finds no device"
"$dest$bindir/engine-probe" cpu > /dev/null || fail "engine-probe does not open the cpu device"
echo "installcheck: the installed tree works"
