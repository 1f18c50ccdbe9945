#!/bin/sh
# encoded.py, where PyPI's gguf is installed (PYTHON names the interpreter that has it).
python=${PYTHON:-python3}
if ! "$python" -c "import gguf.quants" > /dev/null 2>&1; then
    echo "1..0 # SKIP $python has no module gguf"
    exit 0
fi
"$python" -B "${top_srcdir:-.}/tests/peers/encoded.py" "${top_builddir:-.}/engine-quantize" "${SEED:-7}"
