#!/bin/sh
# tokens.py, where PyPI's tokenizers and sentencepiece are installed (PYTHON names the interpreter that has them).
python=${PYTHON:-python3}
if ! "$python" -c "import tokenizers, sentencepiece" > /dev/null 2>&1; then
    echo "1..0 # SKIP $python has no modules tokenizers and sentencepiece"
    exit 0
fi
src=${top_srcdir:-.}
# shellcheck disable=SC2086 # MODEL may be nothing
"$python" -B "$src/tests/peers/tokens.py" "${top_builddir:-.}/tests/peers/tokens" "$src/tests/data" "${TEXTS:-1000}" "${SEED:-7}" ${MODEL:-}
