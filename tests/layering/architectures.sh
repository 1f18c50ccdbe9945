#!/bin/sh
# Every architecture that runs is told where people look: the manual page, the table of docs/language-models.md, and
# that of the comparison with the models' own code; each of the random models' tests, too.  TAP.
set -u
LC_ALL=C
export LC_ALL
src=${top_srcdir:-.}
n=0

# names: as files have them, of the facts that list.def lists.
names()
{
    sed -n 's/^LM_ARCH(\([a-z0-9_]*\))$/\1/p' "$src/libengine-lm/arch/list.def" | while read -r name; do
        sed -n 's/^ *\.name = "\([^"]*\)",$/\1/p' "$src/libengine-lm/arch/$name.c"
    done
}

# told FILES EXPRESSION: one of them has each name; in the expression, @ stands for it.
told()
{
    missing=
    for name in $(names); do
        # a manual page may write a dash as \-
        # shellcheck disable=SC2086 # words
        (cd "$src" && cat $1) | sed 's/\\-/-/g' | grep -qE "$(printf '%s' "$2" | sed "s/@/$name/")" || missing="$missing $name"
    done
    n=$((n + 1))
    if test -z "$missing"; then
        echo "ok $n - $1 has each architecture"
    else
        echo "# without:$missing"
        echo "not ok $n - $1 has each architecture"
    fi
}

all=$(names | wc -l)
listed=$(grep -c '^LM_ARCH' "$src/libengine-lm/arch/list.def")
n=1
if test "$all" = "$listed"; then
    echo "ok 1 - $all architectures have a name"
else
    echo "not ok 1 - $all of $listed architectures have a name"
fi
told man/engine-generate.1 '(^|[ ,])@([ ,]|$)'
told docs/language-models.md '^\|.*`@`.*\|'
# what only guesses for another model is compared by its guesses
told 'tests/peers/archs_cases.py tests/peers/drafts.py' 'arch"?[=:] *"@"'
told tests/reference/model_archs.c '"@"'
told 'tests/lm/archs_table.c tests/lm/test-block.c' '"--arch @ '
echo "1..$n"
