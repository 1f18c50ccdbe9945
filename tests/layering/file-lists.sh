#!/bin/sh
# Lists of the files that an op adds one to: make needs them written down, and nobody should have to.
#
#   file-lists.sh           does each list have what its folder has? (TAP)
#   file-lists.sh --write   makes them anew; ./bootstrap.sh does so before it makes configure
set -u
LC_ALL=C
export LC_ALL
src=${top_srcdir:-.}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
made="Made by tests/layering/file-lists.sh --write from what the folder has."

# variable NAME FOLDER MEANT NOT: sets it to the files of the folder whose names match MEANT and not NOT.
variable()
{
    (cd "$src" && ls "$2"/*) | grep -E "/($3)\$" | grep -vE "/($4)\$" |
        awk -v name="$1" '{ line = line " \\\n\t" $0 } END { print name " =" line }'
}

# content LIST: what should be in it.
content()
{
    folder=${1%/*}
    case $1 in *.mk) echo "# $made" ;; *) echo "/* $made */" ;; esac
    case $1 in
        plugins/cpu/*)
            variable cpu_ops_files "$folder" '[a-z0-9_]+\.[ch]' 'encode[a-z0-9_]*\.[ch]'
            variable cpu_encode_files "$folder" 'encode[a-z0-9_]*\.[ch]' - ;;
        plugins/opencl/*) variable opencl_ops_files "$folder" '[a-z0-9_]+\.[ch]' - ;;
        kernels/*) variable opencl_kernels "$folder" '[a-z0-9_]+\.clh?' - ;;
        tests/reference/*) variable reference_files "$folder" '[a-z0-9_]+\.[ch]' 'model[a-z0-9_]*\.[ch]' ;;
        tests/conformance/*.mk) variable conformance_case_files "$folder" 'gen_[a-z0-9_]+\.c' - ;;
        *.def) sed -n 's/^void cf_cases_\([a-z0-9_]*\)(cf_suite \*s)$/CF_CASES(\1)/p' "$src/$folder"/gen_*.c | sort ;;
    esac
}

n=0
for list in plugins/cpu/ops/files.mk plugins/opencl/ops/files.mk kernels/files.mk tests/reference/files.mk \
            tests/conformance/files.mk tests/conformance/cases.def; do
    content "$list" > "$tmp/wanted"
    n=$((n + 1))
    if test "${1:-}" = --write; then
        cmp -s "$tmp/wanted" "$src/$list" || cp "$tmp/wanted" "$src/$list"
    elif diff "$src/$list" "$tmp/wanted" > "$tmp/differences"; then
        echo "ok $n - $list is what its folder has"
    else
        sed 's/^/# /' "$tmp/differences"
        echo "# make it anew: tests/layering/file-lists.sh --write"
        echo "not ok $n - $list is what its folder has"
    fi
done
test "${1:-}" = --write || echo "1..$n"
