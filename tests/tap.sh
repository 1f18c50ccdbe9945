# Results of a test script, in TAP.  Sourced:
#     . "${top_srcdir:-.}/tests/tap.sh"
# Gives $src and $out, the trees of sources and of the build; $tmp, a folder that ends with the script, whose file `log` is
# shown when something fails; the functions below.  The script ends with `finish`.
src=$(cd "${top_srcdir:-.}" && pwd)
# shellcheck disable=SC2034 # for the script
out=$(cd "${top_builddir:-.}" && pwd)
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0

# result STATUS TEXT: 0 is good
result()
{
    n=$((n + 1))
    if test "$1" = 0; then
        echo "ok $n - $2"
    else
        test ! -s "$tmp/log" || sed 's/^/# /' "$tmp/log"
        echo "not ok $n - $2"
    fi
    : > "$tmp/log"
}

# skip TEXT REASON
skip()
{
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

# has PLUGIN: was it built?
has() { test -f "$out/plugins/$1/.libs/$1.so"; }

# need PLUGIN: without it the whole script is skipped
need()
{
    has "$1" || { echo "1..0 # SKIP this build has no plugin $1"; exit 0; }
}

finish() { echo "1..$n"; }
