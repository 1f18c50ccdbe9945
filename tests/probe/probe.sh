#!/bin/sh
# The command line of engine-probe: what it prints, and its exit codes.  TAP on stdout.
set -u
LC_ALL=C
export LC_ALL
. "${top_srcdir:-.}/tests/tap.sh"
need cpu
probe=$out/engine-probe
json=$out/tests/probe/json-check
tree=$ENGINE_PLUGIN_PATH
ENGINE_PLUGIN_PATH=$out/plugins/cpu/.libs:$out/plugins/meta/.libs:$out/plugins/null/.libs

ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok()
{
    n=$((n + 1))
    echo "# code $code; stdout and stderr:"
    sed 's/^/# /' "$tmp/out" "$tmp/err"
    echo "not ok $n - $1"
}
run()
{
    code=0
    "$probe" "$@" > "$tmp/out" 2> "$tmp/err" < /dev/null || code=$?
}
# expect NAME CODE STDOUT-PATTERN STDERR-PATTERN; an empty pattern: no output at all
expect()
{
    if test "$code" = "$2" && match "$3" "$tmp/out" && match "$4" "$tmp/err"; then ok "$1"; else not_ok "$1"; fi
}
match() { if test -z "$1"; then test ! -s "$2"; else grep -qE -- "$1" "$2"; fi; }

run; expect "the list names the cpu" 0 '^cpu +cpu ' ''
run --format=tsv; expect "the list as tsv" 0 '^cpu	cpu	' ''
run --check; expect "--check says nothing" 0 '' ''
run --plugins; expect "--plugins lists the null plugin" 0 '^null +loaded' ''
run --env; expect "--env lists a plugin's option" 0 '^cpu\.threads = ' ''
run cpu; expect "everything about the cpu" 0 'compute units' ''
if has meta; then
    run --plugins; expect "--plugins lists the meta plugin" 0 '^meta +loaded' ''
    run cpu/2@3:1; expect "a composed device and its leaves" 0 'share +0\.25' ''
else
    run cpu/2; expect "no composed device without the meta plugin" 1 '' 'no plugin that composes'
fi
run null/2.1; expect "the null device when named" 0 '^null/2\.1' ''
run --ops=cpu; expect "--ops of the cpu" 0 '^mul_mat ' ''
run --ops=cpu --format=tsv; expect "--ops as tsv" 0 '^cpu	mul_mat	q4_0	yes' ''
run --no-isolate; expect "without isolation" 0 '^cpu +cpu ' ''
run --version; expect "--version" 0 '^engine-probe [0-9]' ''
run --help; expect "--help" 0 '^Usage: ' ''
run -h; expect "-h" 0 '^Usage: ' ''

run cpu:7; expect "no such device" 1 '' "has 1 device"
run cpu/0; expect "a device cut into nothing" 64 '' "0 parts"
run cpu/2@1; expect "a wrong number of shares" 64 '' "1 share for 2 devices"
run nosuch; expect "no such plugin" 1 '' "there is no plugin 'nosuch'; there are: cpu, null"
run --self-test=nosuch; expect "the self-test of no device" 1 '^not ok 1 ' ''
run --self-test=cpu --op=add --op rms_norm
expect "the self-test of two ops" 0 '^ok [12] - rms_norm on cpu: [1-9][0-9]* passed, 0 failed' ''
test "$(grep -cE '^(ok|not ok)' "$tmp/out")" = 2 && ok "and of no others" || not_ok "and of no others"
run --self-test=null --op=mul_mat --op=cpy
expect "an op that the device does not support is skipped" 0 '^ok [12] - mul_mat on null # SKIP .' ''
run --self-test=cpu --op=mul_amt; expect "an op that there is not" 64 '' 'there is no op mul_amt \(did you mean mul_mat\?\)'
run --op=add; expect "--op without a test" 64 '' '--op goes with --self-test'
"$probe" --self-test=cpu > "$tmp/out" 2> "$tmp/err" &
pid=$!
tries=0
while test ! -s "$tmp/out" && test $tries -lt 600 && kill -0 $pid 2> "$tmp/null"; do sleep 0.05; tries=$((tries + 1)); done
kill -0 $pid 2> "$tmp/null"; code=$?
test $code = 0 && test -s "$tmp/out" && ok "lines come as the test goes" || not_ok "lines come as the test goes"
kill $pid 2> "$tmp/null"; wait $pid 2> "$tmp/null"
run --self-test=cpu+; expect "the self-test of what is no name" 64 '^not ok 1 ' ''
run --ops=cpu+; expect "the ops of what is no name" 64 '' 'device name'
run cpo; expect "a name that is near" 1 '' 'there is no plugin .cpo.*did you mean cpu\?'
run gpu; expect "a kind that is not there" 1 '' "there is no plugin 'gpu'; there are: cpu, null\$"
run --jsno; expect "an option that is near" 64 '' 'unknown option: --jsno \(did you mean --json\?\)'
ENGINE_PLUGINS=cpo run
expect "ENGINE_PLUGINS that names nothing" 1 '' "no usable device: plugin .* switched off by ENGINE_PLUGINS=cpo; no plugin is called 'cpo': did you mean 'cpu'\?"
ENGINE_PLUGINS=cpo run cpu
expect "and for a device" 1 '' 'switched off by ENGINE_PLUGINS=cpo'
ENGINE_CPU_THREDS=2 ENGINE_OIL=diesel run
expect "a variable that is misspelt is told, one of others is not" 0 '^cpu ' 'nothing reads the variable ENGINE_CPU_THREDS: did you mean ENGINE_CPU_THREADS\?'
ENGINE_PLUGIN_PAHT=x run cpu null
expect "and where devices are named" 0 '^cpu' 'nothing reads the variable ENGINE_PLUGIN_PAHT: did you mean ENGINE_PLUGIN_PATH\?'
test "$(wc -l < "$tmp/err")" = 1 && ok "and nothing else" || not_ok "and nothing else"
code=0
ENGINE_PLUGINS=cpo "$out/engine-generate" -p x -m "$src/tests/data/tiny-hybrid-f16.gguf" > "$tmp/out" 2> "$tmp/err" || code=$?
expect "engine-generate names the variable" 1 '' 'switched off by ENGINE_PLUGINS=cpo'
for device in cpu+ cpu:7; do
    case $device in cpu+) want=64 ;; *) want=1 ;; esac
    for line in "engine-probe $device" "engine-probe --ops=$device" "engine-generate -p x -d $device -m $src/tests/data/tiny-hybrid-f16.gguf" \
        "engine-quantize -d $device $src/tests/data/tiny-hybrid-f16.gguf $tmp/q.gguf q4_0"; do
        code=0
        # shellcheck disable=SC2086 # words
        "$out"/$line > "$tmp/out" 2> "$tmp/err" || code=$?
        test $code = $want && ok "code $want for $device: ${line%% *}" || not_ok "code $want for $device: $line"
    done
done
code=0
"$out/engine-quantize" --tensr x=q4_0 a b q4_0 > "$tmp/out" 2> "$tmp/err" || code=$?
expect "engine-quantize: an option that is near" 64 '' 'did you mean --tensor\?'
code=0
"$out/engine-generate" --tmep 1 > "$tmp/out" 2> "$tmp/err" || code=$?
expect "engine-generate: an option that is near" 64 '' 'did you mean --temp\?'
run --frob; expect "an unknown option" 64 '' 'unknown option: --frob'
run --ops --env; expect "two modes at once" 64 '' 'only one of'
run --timeout=no; expect "no number of seconds" 64 '' '--timeout wants'
run --timeout; expect "a missing value" 64 '' 'missing value behind = of --timeout'
run --json=3; expect "a value that nothing wants" 64 '' 'takes no value: --json=3'
run --plugins cpu; expect "a device where none belongs" 64 '' 'cpu'
run --format=xml; expect "an unknown format" 64 '' 'tsv and json'
run --plugin-path=/nowhere/at/all; expect "a folder that is not there" 64 '' 'no such folder'

# JSON, in every mode, is JSON
bad=
for mode in "" --plugins --env --ops=cpu cpu/2; do
    run $mode --json
    "$json" < "$tmp/out" 2>> "$tmp/err" || bad="$bad [$mode]"
done
test -z "$bad" && ok "--json prints JSON" || not_ok "--json prints JSON:$bad"
run --json
test "$("$json" schema < "$tmp/out")" = '"engine-probe/1"' && ok "the schema's name" || not_ok "the schema's name"
cp "$tmp/out" "$tmp/first"
run --json
sed 's/"memory_free": [0-9a-z]*//' "$tmp/first" > "$tmp/a"
sed 's/"memory_free": [0-9a-z]*//' "$tmp/out" > "$tmp/b"
cmp -s "$tmp/a" "$tmp/b" && ok "twice the same output" || not_ok "twice the same output"

# plugins that end or stop the process that loads them
if test -d "$out/tests/probe/fixtures/.libs"; then
    mkdir "$tmp/aborts" "$tmp/hangs" "$tmp/closes" "$tmp/forks"
    cp "$out/tests/probe/fixtures/.libs/aborts.so" "$tmp/aborts/"
    cp "$out/tests/probe/fixtures/.libs/hangs.so" "$tmp/hangs/"
    run --plugin-path="$tmp/aborts" --plugins
    expect "a plugin that aborts" 2 'reason +it ends the process that loads it: signal 6' ''
    run --plugin-path="$tmp/aborts"
    expect "the list without it, and a word about it" 2 '^cpu +cpu ' 'plugin aborts rejected \(crashed\)'
    run --plugin-path="$tmp/aborts" --check
    expect "--check tells it by its code" 2 '' ''
    run --plugin-path="$tmp/hangs" --timeout=1 --plugins
    expect "a plugin that hangs" 2 'stage +timeout' ''
    cp "$out/tests/probe/fixtures/.libs/closes.so" "$tmp/closes/"
    run --plugin-path="$tmp/closes" --timeout=1 --plugins
    expect "a plugin that hangs, with the probe's files closed" 2 'stage +timeout' ''
    cp "$out/tests/probe/fixtures/.libs/forks.so" "$tmp/forks/"
    run --plugin-path="$tmp/forks" --timeout=5 --plugins
    expect "a plugin whose driver leaves a process behind" 2 'stage +descriptor' ''
    # one that ends it as if all were well
    mkdir "$tmp/exits" "$tmp/bad, cpu" "$tmp/worse"
    cp "$out/tests/probe/fixtures/.libs/exits.so" "$tmp/exits/"
    run --plugin-path="$tmp/exits" --plugins
    expect "a plugin that calls exit(0)" 2 'reason +it ends the process that loads it: exit code 0' ''
    run --plugin-path="$tmp/exits" --no-isolate
    expect "without isolation it is named" 2 '' 'a plugin has ended this process.* loading plugin .*/exits\.so'
    code=0
    ENGINE_PLUGIN_PATH=$tmp/exits "$out/engine-generate" -m "$src/tests/data/tiny-hybrid-f16.gguf" -p a > "$tmp/out" \
        2> "$tmp/err" || code=$?
    expect "engine-generate names it, too" 1 '' '^engine-generate: a plugin has ended this process.*/exits\.so'
    # the good plugin of the name of one that crashes, further down the path
    cp "$out/tests/probe/fixtures/.libs/aborts.so" "$tmp/bad, cpu/cpu.so"
    cp "$out/tests/probe/fixtures/.libs/exits.so" "$tmp/worse/cpu.so"
    run --plugin-path="$tmp/bad, cpu" --plugin-path="$tmp/worse"
    expect "the good plugin of that name is used" 2 '^cpu +cpu ' 'plugin cpu rejected \(crashed\): .*signal 6'
    run --plugin-path="$tmp/bad, cpu" --plugin-path="$tmp/worse" --plugins
    expect "and listed" 2 '^cpu +loaded .*/plugins/cpu/.libs/cpu.so' ''
    test "$(grep -c '^cpu  *rejected' "$tmp/out")" = 2 && ok "with both that crash" || not_ok "with both that crash"
    advice=$(sed -n "s/.*advice .*ENGINE_PLUGINS='\\(.*\\)'/\\1/p" "$tmp/out" | tr '\n' ,)
    ENGINE_PLUGINS=$advice run --plugin-path="$tmp/bad, cpu" --plugin-path="$tmp/worse" --no-isolate
    expect "what is advised does without them in any process" 0 '^cpu +cpu ' ''
    run --plugin-path="$tmp/bad, cpu" cpu
    expect "a device by its name, without the plugin that crashes" 2 'compute units' 'plugin cpu rejected \(crashed\)'
    run --plugin-path="$tmp/bad, cpu" --ops=cpu
    expect "--ops without it" 2 '^mul_mat ' 'plugin cpu rejected \(crashed\)'
    # devices that end or stop the process that opens them
    mkdir "$tmp/breaks"
    cp "$out/tests/probe/fixtures/.libs/breaks.so" "$tmp/breaks/"
    run --plugin-path="$tmp/breaks" breaks
    expect "a device that aborts" 1 '' "device 'breaks': the process that used it ended: .*signal 6.*; engine-probe --plugins may"
    run --plugin-path="$tmp/breaks" --timeout=1 breaks:1
    expect "a device that hangs" 1 '' "device 'breaks:1': it took more than 1 s and was ended; give more with --timeout"
    ENG_TEST_REFUSES=1 run --plugin-path="$tmp/breaks" breaks:1
    expect "a device that is refused" 1 '' 'the fixture refuses'
    if test -f "$out/plugins/meta/.libs/meta.so"; then
        code=0
        ENG_TEST_REFUSES=1 ENGINE_PLUGIN_PATH=$tmp/breaks:$ENGINE_PLUGIN_PATH "$out/engine-generate" \
            -m "$src/tests/data/tiny-hybrid-f16.gguf" -p a > "$tmp/out" 2> "$tmp/err" || code=$?
        expect "engine-generate takes all accelerators for a model that is too large for one" 1 '' \
            'too large for one device: all accelerators are used, breaks(:0)?\+breaks:1@1:1 '
    fi
    run --plugin-path="$out/tests/registry/fixtures/.libs" --plugins
    expect "every refused fixture is listed" 2 'function_that_nobody_defines' ''
fi
(unset ENGINE_PLUGIN_PATH; "$probe" --plugins) > "$tmp/out" 2> "$tmp/err"; code=$?
if test -r /proc/self/exe; then
    expect "run where it was built, it finds the plugins of that build" 0 '^cpu +loaded' ''
    grep -q "$(cd "$out" && pwd -P)/plugins/cpu/.libs/cpu.so" "$tmp/out" && ok "and no others" || not_ok "and no others"
fi
(cd "$tmp" && mkdir here && ENGINE_PLUGIN_PATH=here "$probe" --check); code=$?
test $code = 1 && ok "no plugin: no device" || not_ok "no plugin: no device"
run --json --plugin-path="$tmp/here"

# OpenCL: the same devices as clinfo, and a true reason when there is no platform
if has opencl; then
    ENGINE_PLUGIN_PATH=$tree
    if command -v clinfo > /dev/null 2>&1; then
        run --format=tsv
        mine=$(grep -c '^opencl:' "$tmp/out")
        theirs=$(clinfo --raw 2> /dev/null | grep -cE '\[[^]]*/[0-9]+\] +CL_DEVICE_NAME ')
        if test "$mine" = "$theirs"; then ok "as many OpenCL devices as clinfo: $mine"
        else not_ok "as many OpenCL devices as clinfo: $mine, $theirs"; fi
    fi
    OCL_ICD_VENDORS=/nowhere
    export OCL_ICD_VENDORS
    run
    expect "no OpenCL platform: the cpu is still there, and the reason is told" 2 '^cpu ' 'plugin opencl rejected \(devices\): no OpenCL platform'
    run opencl:0
    expect "no OpenCL platform: opencl:0 says why" 1 '' 'no OpenCL platform'
fi

# every option of --help is in the man page, and the other way round
"$probe" --help | grep -oE -- '--[a-z-]+' | sort -u > "$tmp/help"
sed 's/\\-/-/g' "$src/man/engine-probe.1" | grep -oE -- '--[a-z-]+' | sort -u > "$tmp/man"
if diff "$tmp/help" "$tmp/man" > "$tmp/out"; then ok "--help and the man page name the same options"
else not_ok "--help and the man page name the same options"; fi
finish
