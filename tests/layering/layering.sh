#!/bin/sh
# The walls of the house, as tests: who includes whom, who uses and exports what.
# TAP on stdout; each violation is a diagnostic line.
set -u
LC_ALL=C
export LC_ALL
src=${top_srcdir:-.}
out=${top_builddir:-.}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0

# result TEXT: passes if $tmp/bad is empty
result()
{
    n=$((n + 1))
    if test -s "$tmp/bad"; then
        sed 's/^/# /' "$tmp/bad"
        echo "not ok $n - $1"
    else
        echo "ok $n - $1"
    fi
    : > "$tmp/bad"
}
: > "$tmp/bad"

sources() { find "$@" -name '*.[ch]' | sort; }

# 1. A floor includes only itself and lower floors; the lowest the plain data of the plugin contract.
level() { case $1 in util) echo -1;; base) echo 0;; gguf | registry) echo 1;; device) echo 2;; graph) echo 3;; plan) echo 4;; engine) echo 5;; *) echo 9;; esac; }
for file in $(sources "$src/libengine"); do
    floor=$(basename "$(dirname "$file")")
    own=$(level "$floor")
    for other in $(sed -n 's/^ *# *include *"\.\.\/\([^/"]*\)\/.*/\1/p' "$file"); do
        test "$(level "$other")" -le "$own" || echo "$file includes floor $other" >> "$tmp/bad"
        # files of models are beside the house: they know no devices and no graphs, and nothing of it knows them
        case $floor:$other in gguf:util | gguf:base | gguf:gguf) ;; gguf:* | *:gguf) echo "$file includes floor $other" >> "$tmp/bad";; esac
    done
    grep -nE '^ *# *include *"(\.\./\.\.|libengine)' "$file" | sed "s|^|$file:|" >> "$tmp/bad"
done
result "each floor of libengine includes only lower floors"
for file in $(sources "$src/libengine/util"); do
    sed -n 's/^ *# *include *\([<"].*[>"]\).*/\1/p' "$file" | while read -r name; do
        case $name in
            *'engine/types.h'? | *'engine/ops.h'? | *'engine/plugin.h'? | '"config.h"') ;;
            *engine* | '"'*/* | *CL/* | *ltdl*) echo "$file includes $name" ;;
        esac
    done >> "$tmp/bad"
done
result "libengine/util knows no floor and no device"

# 2. A plugin includes the installed plugin headers, libengine/util and its own folder; the template does without.
for file in $(sources "$src/plugins"); do
    sed -n 's/^ *# *include *\([<"].*[>"]\).*/\1/p' "$file" | while read -r name; do
        case $name in
            '<engine/plugin.h>' | '<engine/types.h>' | '<engine/ops.h>' | '<engine/types.def>' | '<engine/ops.def>') ;;
            '"config.h"') ;;
            '"libengine/util/util.h"') case $file in */null/*) echo "$file includes $name" ;; esac ;;
            '<engine/'* | '"engine/'* | *libengine* | '"../../'*) echo "$file includes $name" ;;
        esac
    done >> "$tmp/bad"
done
result "plugins include only the plugin contract, libengine/util and their own folder"

for file in $(sources "$src/plugins/meta"); do
    folder=$(basename "$(dirname "$file")")
    sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file" | while read -r name; do
        case $folder:$name in
            *:libengine/util/util.h) ;;
            cut:*/* | store:../plan/* | store:../run/* | store:../explain/* | plan:../store/* | plan:../run/* | \
            plan:../explain/* | run:../store/* | run:../explain/* | explain:../store/* | run:../plan/planner.h | \
            explain:../plan/planner.h) echo "$file includes $name" ;;
        esac
    done >> "$tmp/bad"
done
result "the folders of plugins/meta know one another as far as docs/architecture.md says"

# 3. libengine-lm and the tools stand on the installed headers, and libengine/util.
for file in $(sources "$src/libengine-lm" "$src/tools"); do
    case $file in */tools/probe_test.c) allowed=tests/conformance/ ;; *) allowed=libengine/util/util.h ;; esac
    grep -nE '^ *# *include *"([^"]*libengine/|\.\./(libengine|plugins|tests)|[^"]*plugins/|[^"]*tests/)' "$file" |
        grep -v "$allowed" | sed "s|^|$file:|" >> "$tmp/bad"
done
result "libengine-lm and the tools include only installed headers and libengine/util"

# 4. One file knows libltdl, one folder knows OpenCL.
grep -rlE 'ltdl\.h|lt_dl' "$src/libengine" "$src/libengine-lm" "$src/plugins" "$src/tools" --include='*.[ch]' |
    grep -v '/libengine/registry/module\.c$' >> "$tmp/bad"
result "only libengine/registry/module.c knows libltdl"
grep -rlE '# *include *[<"](CL|OpenCL)/' "$src/libengine" "$src/libengine-lm" "$src/plugins" "$src/tools" --include='*.[ch]' |
    grep -v '/plugins/opencl/' >> "$tmp/bad"
result "only plugins/opencl knows OpenCL"
# Kernels: OpenCL C 1.2 alone, and what Mesa's compiler gets wrong (kernels/index.clh, mul_mat.clh).
grep -nE '#pragma OPENCL EXTENSION|printf *\(|__builtin_[a-oq-z]|long [a-z_]+ = INDEX|long [a-z_]+ = \*\(__global const int' \
    "$src"/kernels/*.cl "$src"/kernels/*.clh >> "$tmp/bad"
result "kernels use no extension, and widen no index before it is compared"

# 5. What the built objects use and export.
libraries=$(find "$out/.libs" -name 'libengine*.so' 2>/dev/null | sort)
plugins=$(find "$out/plugins" -path '*/.libs/*.so' 2>/dev/null | sort)
test -n "$plugins" || echo "no plugin was built in $out/plugins" >> "$tmp/bad"
for file in $plugins; do
    nm -D --undefined-only "$file" | awk -v f="$file" '$NF ~ /^eng_/ { print f " needs " $NF }' >> "$tmp/bad"
done
result "no plugin has an undefined eng_ symbol"
for file in $plugins; do
    name=$(basename "$file" .so)
    nm -D --defined-only "$file" | awk -v f="$file" -v n="${name}_LTX_eng_plugin_descriptor" \
        '$2 ~ /[A-Z]/ && $NF != n && $NF !~ /^(__|_init$|_fini$|_edata$|_end$)/ { print f " exports " $NF }' >> "$tmp/bad"
done
result "a plugin exports its descriptor alone"
for file in $libraries; do
    nm -D --defined-only "$file" | awk -v f="$file" \
        '$2 ~ /[TDBRVW]/ && $NF !~ /^eng_/ && $NF !~ /^(__|_init$|_fini$|_edata$|_end$)/ { print f " exports " $NF }' >> "$tmp/bad"
done
result "the libraries export eng_ names alone"
# The tests of failing drivers know every OpenCL call that the plugin makes.
for file in $plugins; do
    nm -D --undefined-only "$file" | sed -n 's/.* U \(cl[A-Z][A-Za-z]*\).*/\1/p' | while read -r call; do
        grep -qE "[( ]$call," "$src/tests/opencl/calls.h" || echo "$file calls $call, which tests/opencl/calls.h lacks" >> "$tmp/bad"
    done
done
result "every OpenCL call of a plugin is known to the interposer of tests/opencl"
for file in $libraries $plugins; do
    nm -D --undefined-only "$file" | sed 's/@.*//' | awk -v f="$file" '
        $NF ~ /^(abort|exit|_exit|_Exit|quick_exit|__assert_fail|setlocale|signal|sigaction|raise)$/ ||
        $NF ~ /^(printf|vprintf|__printf_chk|__vprintf_chk|puts|putchar|perror|stdout|stderr)$/ { print f " uses " $NF }' >> "$tmp/bad"
done
if nm -D --undefined-only $libraries $plugins 2>/dev/null | grep -qE '__(asan|ubsan|tsan)_'; then
    : > "$tmp/bad" # a sanitizer's own needs
fi
result "libraries and plugins never abort, exit, print or touch signals and locale"

# 6. Files that can be read in one sitting; tables of data are no reading matter.
for file in $(sources "$src/libengine" "$src/libengine-lm" "$src/plugins" "$src/tools" "$src/include") \
            $(find "$src/kernels" -name '*.cl' -o -name '*.clh' | sort); do
    case $file in */unicode_table.h) continue ;; esac
    lines=$(wc -l < "$file")
    test "$lines" -le 600 || echo "$file has $lines lines" >> "$tmp/bad"
done
result "no source file is longer than 600 lines"

# 7. The public headers stand alone, in C and in C++.
compile_alone()
{
    for header in plugin.h engine.h lm.h types.h ops.h; do
        echo "#include <engine/$header>" > "$tmp/alone.$1"
        # shellcheck disable=SC2086 # a compiler may be two words: "ccache gcc"
        $2 $3 -Wall -Wextra -Wpedantic -Werror -I"$src/include" -fsyntax-only "$tmp/alone.$1" >> "$tmp/bad" 2>&1 ||
            echo "engine/$header does not compile alone with $2 $3" >> "$tmp/bad"
    done
}
compile_alone c "${CC:-cc}" -std=c11
result "public headers compile alone as C11"
if command -v ${CXX:-c++} > /dev/null 2>&1; then
    compile_alone cc "${CXX:-c++}" -std=c++11
    result "public headers compile alone as C++"
else
    n=$((n + 1))
    echo "ok $n # SKIP no C++ compiler"
fi
echo "1..$n"
