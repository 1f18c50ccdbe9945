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

# embedded.c is the kernels as text, which make writes: into the source folder where that is built in.
sources() { find "$@" -name '*.[ch]' ! -name embedded.c | sort; }

# 1. A folder includes only itself and lower floors.
# The floors of a library or plugin, lowest first; ".": its own folder.
floors_of()
{
    case $1 in
        libengine) echo util base gguf registry executor device graph plan engine ;;
        libengine-lm) echo tokenizer files arch run grammar sampling . draft fit chat ;;
        plugins/cpu) echo device memory ops planes units tiles words lower run . ;;
        plugins/opencl) echo device memory ops lower run . ;;
        plugins/meta) echo cut device store plan run explain . ;;
    esac
}
# level FLOOR LIST: its place in the list; 99: it has none
level()
{
    floor=$1
    place=0
    shift
    for other in "$@"; do
        test "$other" != "$floor" || { echo $place; return; }
        place=$((place + 1))
    done
    echo 99
}
for part in libengine libengine-lm plugins/cpu plugins/opencl plugins/meta; do
    floors=$(floors_of "$part")
    for file in $(sources "$src/$part"); do
        own=$(dirname "$file")
        test "$own" != "$src/$part" || continue
        own=$(basename "$own")
        for used in $(sed -n 's/^ *# *include *"\.\.\/\([^/"]*\)\/.*/\1/p' "$file"); do
            # shellcheck disable=SC2086 # a list of words
            test "$(level "$used" $floors)" -le "$(level "$own" $floors)" || echo "$file includes floor $used" >> "$tmp/bad"
        done
        grep -nE '^ *# *include *"\.\./\.\.' "$file" | sed "s|^|$file:|" >> "$tmp/bad"
    done
done
# files of models are beside the house: they know no devices and no graphs, and nothing of it knows them
grep -nE '^ *# *include *"\.\./[a-z]*/' $(sources "$src/libengine/gguf") | grep -vE '"\.\./(util|base)/' >> "$tmp/bad"
grep -nE '^ *# *include *"\.\./gguf/' $(sources "$src/libengine") /dev/null >> "$tmp/bad"
grep -nE '^ *# *include *"libengine' $(sources "$src/libengine") /dev/null >> "$tmp/bad"
result "the folders of libraries and plugins include only lower ones"
for file in $(sources "$src/libengine/util"); do
    sed -n 's/^ *# *include *\([<"].*[>"]\).*/\1/p' "$file" | while read -r name; do
        case $name in
            *'engine/types.h'? | *'engine/types.def'? | *'engine/ops.h'? | *'engine/plugin.h'? | '"config.h"') ;;
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
            '"libengine/util/grids.h"') ;; # numbers of a file format
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
            plan:../store/* | run:../store/* | explain:../store/* | run:../plan/planner.h | explain:../plan/planner.h)
                echo "$file includes $name" ;;
        esac
    done >> "$tmp/bad"
done
result "the folders of plugins/meta know one another as far as docs/architecture.md says"

# 3. libengine-lm and the tools stand on the installed headers, and libengine/util.
for file in $(sources "$src/libengine-lm" "$src/tools"); do
    case $file in
        */tools/probe_test.c) allowed='tests/conformance/\|libengine/util/util.h' ;;
        */tools/weighted_patterns.c) allowed='libengine/util/util.h\|libengine/util/grids.h' ;; # tables of data
        *) allowed=libengine/util/util.h ;;
    esac
    grep -nE '^ *# *include *"([^"]*libengine/|\.\./(libengine|plugins|tests)|[^"]*plugins/|[^"]*tests/)' "$file" |
        grep -v "$allowed" | sed "s|^|$file:|" >> "$tmp/bad"
done
result "libengine-lm and the tools include only installed headers and libengine/util"

# 4. One file knows libltdl, one folder knows OpenCL.
grep -rlE 'ltdl\.h|lt_dl' "$src/libengine" "$src/libengine-lm" "$src/plugins" "$src/tools" --include='*.[ch]' |
    grep -v '/libengine/registry/module\.c$' >> "$tmp/bad"
result "only libengine/registry/module.c knows libltdl"
grep -rlE 'pcre2|regex\.h' "$src/libengine" "$src/libengine-lm" "$src/plugins" "$src/tools" --include='*.[ch]' |
    grep -v '/libengine/util/pattern\.c$' >> "$tmp/bad"
result "only libengine/util/pattern.c knows regular expressions"
grep -rlE 'jansson' "$src/libengine" "$src/libengine-lm" "$src/plugins" "$src/tools" --include='*.[ch]' |
    grep -vE '/libengine-lm/chat/variables\.c$|/libengine-lm/grammar/schema[a-z_]*\.[ch]$|/tools/' >> "$tmp/bad"
result "of the libraries only libengine-lm/chat/variables.c and libengine-lm/grammar/schema*.c know jansson"
grep -rlE '# *include *[<"](CL|OpenCL)/' "$src/libengine" "$src/libengine-lm" "$src/plugins" "$src/tools" --include='*.[ch]' |
    grep -v '/plugins/opencl/' >> "$tmp/bad"
result "only plugins/opencl knows OpenCL"
# Kernels: OpenCL C 1.2 alone, and what Mesa's compiler gets wrong (kernels/index.clh, mul_mat.clh).
grep -nE '#pragma OPENCL EXTENSION|printf *\(|__builtin_[a-oq-z]|long [a-z_]+ = INDEX|long [a-z_]+ = \*\(__global const int' \
    "$src"/kernels/*.cl "$src"/kernels/*.clh |
    grep -v 'kernels/builtins.clh:.*__builtin_convertvector\|kernels/stream.clh:\|kernels/fragments.clh:\|kernels/across.clh:.*__builtin_amdgcn_ds_bpermute\|kernels/dot4.clh:.*__builtin_amdgcn_su\?dot4\|kernels/attention_blocks.clh:.*__builtin_ia32_permvarsf512\|kernels/parts.clh:.*__builtin_ia32_\(pshufb256\|selectb_256\)' >> "$tmp/bad"
result "kernels use no extension, and widen no index before it is compared"
# What is tried on every card has assembly for the compilers alone that are known to take it: one that makes SPIR-V may end the process.
for tried in "dot4 -DDOT4=1" "exchange -DHAVE_SHUFFLE=1" "matrix -DMATRIX=1" "matrix -DMATRIX=3" "matrix -DMATRIX=8"; do
    "${CC:-cc}" -E -P -x c -DSIMT=1 "${tried#* }" "$src/kernels/${tried%% *}.cl" 2> /dev/null | grep -n '__asm__' |
        sed "s|^|kernels/${tried%% *}.cl ${tried#* }: |" >> "$tmp/bad"
done
result "kernels that are tried have no assembly for a compiler of which nothing is known"
# What a kernel does is a function that is compiled once, if it neither is the kernel nor asks for its place (launch.clh).
grep -nE '^__kernel|get_global_id\(' "$src"/kernels/*.cl "$src"/kernels/*.clh |
    grep -vE 'kernels/(launch|builtins)\.clh:|kernels/(roof|loops|matrix|bf16|tiles|dot4|dot2|exchange|series)\.cl:' >> "$tmp/bad"
result "kernels begin with KERNEL and ask for their place by ITEM"
# Functions in which work-items wait are WAITING, or always in place (launch.clh).
awk '
    FNR == 1 { name = "" }
    /^static inline [^;]*$/ && !/always_inline/ { name = FILENAME ":" FNR ": " $0; waits = 0 }
    name != "" && /(^|[^a-z_])(barrier|across_[a-z]+|lanes_sums|lanes_span|group_(sum|max)) *\(/ { waits = 1 }
    /^}/ { if (name != "" && waits) print name; name = "" }' "$src"/kernels/*.cl "$src"/kernels/*.clh >> "$tmp/bad"
result "functions of kernels that wait are WAITING"

# Whoever builds a graph is told what a value must be, not what it is not.
awk '
    FNR == 1 { call = "" }
    /eng_graph_fail\(f, / { call = FILENAME ":" FNR ":" }
    call != "" { call = call $0; if (/;$/) { if (call !~ /must/) print call; call = "" } }' "$src"/libengine/graph/*.c >> "$tmp/bad"
result "refusals of the builders say what must be"

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

# 6. Which files need one another, by the symbols of the built objects.  Files compiled several times are one file.
# needs FOLDER: a line "FILE FILE SYMBOL" for each symbol that an object of the first file takes from the second.
needs()
{
    (cd "$src" && sources "$1") > "$tmp/sources"
    (cd "$out" && find "$1" -name '*.o' -exec nm -A -g {} +) | awk '
        NR == FNR { source[$1]; next }
        {
            file = $0
            sub(/\.o:.*/, ".c", file)
            sub(/\/\.libs\//, "/", file)
            sub(/\/[a-z0-9_]*_la-|\/engine_[a-z]*-/, "/", file) # the prefix of a library or a program
            symbol = $NF; kind = $(NF - 1)
            if (!(file in source)) next # of a file that is no more
            if (kind == "U") wants[file, symbol]
            else if (kind ~ /[A-Z]/ && !((file, symbol) in has)) { has[file, symbol]; by[symbol] = by[symbol] " " file }
        }
        END {
            for (pair in wants) {
                split(pair, want, SUBSEP)
                n = split(by[want[2]], from, " ")
                for (i = 1; i <= n; i++) if (from[i] != want[1]) print want[1], from[i], want[2]
            }
        }' "$tmp/sources" - | sort
}
# Reads such lines; prints each circle's files, and what they take from one another.
circles()
{
    awk '
        function number(file) { if (!(file in n)) { n[file] = ++N; name[N] = file } return n[file] }
        { a = number($1); b = number($2); reach[a, b]; why[a, b] = why[a, b] " " $3 }
        END {
            for (k = 1; k <= N; k++) for (i = 1; i <= N; i++) if ((i, k) in reach)
                for (j = 1; j <= N; j++) if ((k, j) in reach) reach[i, j]
            for (i = 1; i <= N; i++) {
                if (!((i, i) in reach) || (i in circle)) continue
                line = ""
                for (j = i; j <= N; j++) if (((i, j) in reach) && ((j, i) in reach)) { circle[j] = i; line = line " " name[j] }
                print "a circle:" line
                for (a = i; a <= N; a++) for (b = i; b <= N; b++)
                    if (circle[a] == i && circle[b] == i && ((a, b) in why)) print "  " name[a] " takes from " name[b] ":" why[a, b]
            }
        }'
}
# Reads such lines; prints those that lead from a folder of FOLDER to a higher one.
upward()
{
    awk -v part="$1" -v order="$(floors_of "$1")" '
        function floor(file) { file = substr(file, length(part) + 2); return sub(/\/[^\/]*$/, "", file) ? file : "." }
        BEGIN { n = split(order, word, " "); for (i = 1; i <= n; i++) level[word[i]] = i }
        {
            for (i = 1; i <= 2; i++) if (!(floor($i) in level)) { print $i " is on no floor of " part; next }
            if (level[floor($1)] < level[floor($2)]) print $1 " takes " $3 " from the higher " $2
        }'
}
for part in libengine libengine-lm plugins/cpu plugins/opencl plugins/meta plugins/null tools; do
    needs "$part" > "$tmp/needs.$(basename "$part")"
done
test -s "$tmp/needs.libengine" || echo "no object was built in $out/libengine" >> "$tmp/bad"
for file in "$tmp"/needs.*; do circles < "$file" >> "$tmp/bad"; done
result "no files need one another in a circle"
for part in libengine libengine-lm plugins/cpu plugins/opencl plugins/meta; do
    upward "$part" < "$tmp/needs.$(basename "$part")" >> "$tmp/bad"
done
result "no folder of a library or plugin needs a higher one"

# 7. Files that can be read in one sitting; tables of data are no reading matter.
for file in $(sources "$src/libengine" "$src/libengine-lm" "$src/plugins" "$src/tools" "$src/include") \
            $(find "$src/kernels" -name '*.cl' -o -name '*.clh' | sort); do
    case $file in */unicode_table.h) continue ;; esac
    lines=$(wc -l < "$file")
    test "$lines" -le 600 || echo "$file has $lines lines" >> "$tmp/bad"
done
result "no source file is longer than 600 lines"

# 8. The public headers stand alone, in C and in C++.
compile_alone()
{
    for header in plugin.h engine.h lm.h sampler.h grammar.h chat.h types.h ops.h; do
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
