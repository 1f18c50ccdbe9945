# For the scripts of this folder: commands, and what they said when somebody last looked at it.
top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
generate=$top_builddir/engine-generate
dump=$top_builddir/tests/golden/dump-graph
hybrid=$top_srcdir/tests/data/tiny-hybrid-f16.gguf
ENGINE_NULL_ACCEPT=measure
export ENGINE_NULL_ACCEPT
version=$("$top_builddir/engine-probe" --version | sed 's/.* //; s/[.]/[.]/g')
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0

plain()
{
    sed -E -e 's/-?[0-9.]+ tokens\/s/R tokens\/s/g' -e 's/("[a-z_]*(per_second|_seconds)": )[0-9.e+-]+/\1R/g' \
        -e 's/in [0-9.]+ s$/in R s/' -e "s/$version/VERSION/g" -e 's/("abi_[a-z]*": )[0-9]+/\1N/g' -e 's|"[^"]*/([^"/]*\.gguf)"|"\1"|'
}

# says NAME COMMAND...: what it writes is what texts/NAME.txt has.
says()
{
    name=$1 want=$top_srcdir/tests/golden/texts/$1.txt
    shift
    "$@" >"$dir/raw" 2>&1
    echo "exit code $?" >>"$dir/raw"
    plain <"$dir/raw" >"$dir/got"
    n=$((n + 1))
    if [ "$write" ]; then
        cp "$dir/got" "$want"
    fi
    if diff "$want" "$dir/got" >"$dir/diff"; then
        echo "ok $n - $name"
    else
        head -n 20 "$dir/diff" | sed 's/^/# /'
        echo "not ok $n - $name"
    fi
}

# says_if_cpu NAME COMMAND...: the same, for what encodes, as the cpu plugin does.
says_if_cpu()
{
    if [ -f "$top_builddir/plugins/cpu/cpu.la" ]; then
        says "$@"
    else
        n=$((n + 1))
        echo "ok $n - $1 # SKIP the plugin cpu was not built"
    fi
}

[ "$1" = --write ] && write=yes || write=
