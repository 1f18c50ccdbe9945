#!/bin/sh
# The faults that `mutate` finds in a file, what it makes of the file, and that a seed always draws the same.
# TAP on stdout.
mutate=${top_builddir:-.}/tests/mutants/mutate
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0

check() { # NAME: are $dir/want and $dir/got the same?
    n=$((n + 1))
    if diff "$dir/want" "$dir/got" >"$dir/diff"; then
        echo "ok $n - $1"
    else
        sed 's/^/# /' "$dir/diff"
        echo "not ok $n - $1"
    fi
}

cat >"$dir/a.c" <<'END'
/* if (a < b) in a comment */
#define LESS(a, b) ((a) < (b))
static const int table[] = {1, 2};
static int first(struct queue *q, int *p)
{
    char text[64] = "a < b";
    pthread_mutex_lock(&q->lock);
    if (p[0] < 7 && done)
        work(q, text);
    for (int i = 0; i <= n; i++)
        q->sum += p[i] * 1.5f;
    pthread_mutex_unlock(&q->lock);
    return ENG_OK;
}
END
"$mutate" list . "$dir/a.c" | cut -f 2-6 | tr '\t' ' ' >"$dir/got"
cat >"$dir/want" <<'END'
0 8 first negate negated
1 8 first constant 0 -> 1
2 8 first bound < -> <=
3 8 first constant 7 -> 8
4 8 first logic && -> ||
5 9 first call dropped
6 10 first constant 0 -> 1
7 10 first bound <= -> <
8 11 first assign dropped
9 11 first sum += -> -=
10 11 first sum * -> +
11 11 first real 1.5f -> (1.5f * 1.5f)
12 13 first status ENG_OK -> ENG_ERR_IO
13 7 first lock dropped
END
check "all faults of a file, none in comments, texts and what the preprocessor reads"

"$mutate" apply "$dir/a.c" 13 >"$dir/got"
sed 's/pthread_mutex_[a-z]*(&q->lock)/(void)0/' "$dir/a.c" >"$dir/want"
check "locks are dropped together"
"$mutate" apply "$dir/a.c" 0 >"$dir/got"
sed 's/if (p\[0\] < 7 && done)/if (!(p[0] < 7 \&\& done))/' "$dir/a.c" >"$dir/want"
check "a condition is negated whole"

mkdir -p "$dir/x" "$dir/y" && cp "$dir/a.c" "$dir/x" && cp "$dir/a.c" "$dir/y"
for i in got want; do "$mutate" draw 7 28 . "$dir/x/a.c" "$dir/y/a.c" >"$dir/$i"; done
check "a seed draws the same twice"
sort -u "$dir/got" | wc -l | tr -d ' ' >"$dir/n" && echo 28 >"$dir/want" && mv "$dir/n" "$dir/got"
check "and no fault twice"
"$mutate" draw 7 28 ':first:(lock|real)$' "$dir/x/a.c" | cut -f 5 | sort >"$dir/got"
printf 'lock\nreal\n' >"$dir/want"
check "only what a pattern allows"
echo "1..$n"
