#!/bin/sh
# The template of a plugin, copied as its README says, builds against the headers alone; its device is shown and opens.  TAP.
#   template.sh [FOLDER [ENGINE-PROBE]]: the template and the program, if not those of this tree
set -u
. "${top_srcdir:-.}/tests/tap.sh"
template=${1:-$src/plugins/null}
probe=${2:-$out/engine-probe}
cc=${CC:-cc}
if test $# = 0; then
    mkdir "$tmp/pkg"
    printf 'Name: libengine\nDescription: of this tree\nVersion: 3\nCflags: -I%s\n' "$src/include" > "$tmp/pkg/libengine.pc"
    PKG_CONFIG_PATH=$tmp/pkg
    PKG_CONFIG_SYSROOT_DIR=
    export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
fi

mkdir "$tmp/plugin" && cp "$template"/*.[ch] "$template/README.md" "$tmp/plugin/"
# the commands of the README, but for engine-probe's
sed -n 's/^ \{7\}//p' "$template/README.md" | grep -v '^engine-probe' | sed "s|^cc |$cc -Wall -Wextra -Wno-unused-parameter -Werror |" > "$tmp/commands"
grep -q "mv null.h mine.h" "$tmp/commands" && (cd "$tmp" && set -e && . ./commands) > "$tmp/log" 2>&1
result $? "the commands of the template's README make a plugin: $(grep -c . "$tmp/commands")"
dir=$tmp/mine
test -f "$dir/mine.so" && ! grep -rn null "$dir"/*.[ch] > "$tmp/log"
result $? "of its own name"
test -f "$dir/mine.so" && ! nm -D --undefined-only "$dir/mine.so" | grep ' eng_' > "$tmp/log"
result $? "that needs no symbol of libengine"

ENGINE_PLUGIN_PATH=
ENGINE_PLUGINS=
export ENGINE_PLUGIN_PATH ENGINE_PLUGINS
"$probe" --plugin-path="$dir" --plugins > "$tmp/log" 2>&1
grep -qE '^mine +loaded' "$tmp/log"
result $? "it is loaded"
"$probe" --plugin-path="$dir" > "$tmp/log" 2>&1
grep -qE '^mine +null ' "$tmp/log"
result $? "engine-probe shows its device without being asked for it"
"$probe" --plugin-path="$dir" mine > "$tmp/log" 2>&1
grep -q 'mine plugin 0\.1' "$tmp/log"
result $? "the device opens"
"$probe" --plugin-path="$dir" --self-test=mine --op=store > "$tmp/log" 2>&1 && ! grep -q '^not ok' "$tmp/log" && grep -q '^ok' "$tmp/log"
result $? "and stores what the suite wants: $(grep -c '^ok' "$tmp/log") lines"
finish
