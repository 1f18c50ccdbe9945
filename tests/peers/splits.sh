#!/bin/sh
# splits.py, where PyPI's tokenizers is installed (PYTHON names the interpreter that has it).
python=${PYTHON:-python3}
if ! "$python" -c "import tokenizers" > /dev/null 2>&1; then
    echo "1..0 # SKIP $python has no module tokenizers"
    exit 0
fi
"$python" "${top_srcdir:-.}/tests/peers/splits.py" "${top_builddir:-.}/tests/peers/cut"
