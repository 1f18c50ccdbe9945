#!/bin/sh
# What make check has of check-implementations and check-devices: paths of every kind, and that what fails, ends by a
# signal or does not end is told and counted.  The programs of the suite are played by one that says what they would.
. "${top_srcdir:-.}/tests/tap.sh"
need opencl

mkdir -p "$tmp/build/tests" "$tmp/lib" "$tmp/vendors"
cat >"$tmp/play" <<'END'
#!/bin/sh
log() { echo "$*" >>"$PLAYED"; }
case ${0##*/} in
engine-probe)
    found=$(cat "$OCL_ICD_VENDORS"/*.icd)
    log "vendors $found, libraries $LD_LIBRARY_PATH"
    test "$found" = /none.so || printf 'opencl:0\tcpu\tPlayed\t1\tVersion 7\tready\n' ;;
engine-generate)
    case "$*" in
    *perplexity*) echo 3.25 ;;
    *) echo ' [from the {suit}s] A {bug} or {cracker}s. Also used to ref' ;;
    esac ;;
conformance)
    echo "# opencl:0: 10 cells, 7 passed, ${PLAY_WRONG:-0} failed, 3 unsupported, 0 skipped, 1.0 s, seed 1"
    exit "${PLAY_WRONG:-0}" ;;
test-waits) test "${PLAY_SLOW:-no}" = no || exec sleep 30 ;;
test-slow) test "${PLAY_CRASH:-no}" = no || kill -SEGV $$ ;;
test-heads) test "${PLAY_NOT_OK:-no}" = no || echo "not ok 1 - heads" ;;
esac
exit 0
END
chmod +x "$tmp/play"
for program in engine-probe engine-generate tests/conformance/conformance tests/meta/test-random tests/lm/test-model \
    tests/opencl/test-beyond tests/opencl/test-builds tests/opencl/test-failures tests/opencl/test-heads \
    tests/opencl/test-leaks tests/opencl/test-opencl tests/opencl/test-slow tests/opencl/test-waits; do
    mkdir -p "$tmp/build/$(dirname $program)"
    ln -s "$tmp/play" "$tmp/build/$program"
done

# check [NAME=VALUE...] -- PATH...: the target on these paths; what it says in log, the status is its own
check()
{
    settings=
    while test "$1" != --; do settings="$settings $1"; shift; done
    shift
    : >"$tmp/played"
    # shellcheck disable=SC2086
    env -u OCL_ICD_VENDORS -u LD_LIBRARY_PATH PLAYED="$tmp/played" top_srcdir="$src" top_builddir="$tmp/build" \
        $settings "$src/tests/opencl/check-implementations" "$src" "$tmp/build" "$@" >"$tmp/log" 2>&1
}
says() { grep -q -e "$1" "$tmp/log"; }

touch "$tmp/lib/libone.so.2"
echo "$tmp/lib/libone.so.2" >"$tmp/vendors/one.icd"
check -- && says '^skipped: no implementation is named'
result $? "no path: skipped, with a word"
check -- "$tmp/nowhere" "$tmp/lib/libnone.so" && says 'nowhere: nothing there, skipped' &&
    says 'libnone.so: nothing there, skipped'
result $? "nothing at the paths: skipped, with a word"
for path in vendors vendors/one.icd lib/libone.so.2; do
    check IMPLEMENTATION_STEPS=probe -- "$tmp/$path" && says '^opencl:0: Played, Version 7' &&
        grep -q "^vendors $tmp/lib/libone.so.2, libraries $tmp/lib:" "$tmp/played"
    result $? "$path is the only implementation, with the libraries beside it"
done
echo /none.so >"$tmp/none.icd"
! check -- "$tmp/none.icd" && says 'none.icd: no device'
result $? "an implementation without a device is a failure"
check -- "$tmp/vendors" && says 'opencl:0: [0-9]* steps, 0 failed; cases of ops: 21 passed, 0 failed, 9 unsupported'
result $? "steps and cases are counted"
! check PLAY_WRONG=2 -- "$tmp/vendors" && says 'steps, 3 failed; cases of ops: 21 passed, 6 failed, 9 unsupported' &&
    says 'opencl:0: ops, simt (exit status 2)'
result $? "cases that fail"
! check PLAY_CRASH=yes PLAY_NOT_OK=yes -- "$tmp/vendors" && says 'steps, 2 failed' &&
    says 'plugin, slow (killed by signal 11)' && says 'plugin, heads (not ok)'
result $? "what a signal ends, and what only says that it is not right"
! check PLAY_SLOW=yes STEP_SECONDS=1 -- "$tmp/vendors" && says 'steps, 1 failed' &&
    says 'plugin, waits (longer than 1 s)'
result $? "what does not end"
finish
