#!/bin/sh
# Plain loops of ops are vectors (ops/loops.h), though CFLAGS comes last on the compiler's command line and says -O2.
object=plugins/cpu/ops/.libs/libcpu_avx2_la-rope.o
echo 1..1
# shellcheck disable=SC2086 # words
macros=$(${CC:-cc} ${ENG_BUILD_CFLAGS:-} -dM -E -x c /dev/null 2>/dev/null)
case $macros in
    *__clang__* | *__OPTIMIZE_SIZE__* | *__SANITIZE_*) why="another compiler, or a build of another kind" ;;
    *__OPTIMIZE__*) why= ;;
    *) why="a build without optimization" ;;
esac
test -f $object || why="no code for avx2"
command -v objdump >/dev/null 2>&1 || why="no objdump"
if test -n "$why"; then
    echo "ok 1 - the loops of rope are vectors # SKIP $why"
elif test "$(objdump -d --disassemble=rotate_apart $object | grep -cE 'v(mul|add|sub|fmadd[0-9]*|fmsub[0-9]*)p[sd] .*%ymm')" -gt 0; then
    echo "ok 1 - the loops of rope are vectors"
else
    echo "not ok 1 - the loops of rope are vectors"
fi
