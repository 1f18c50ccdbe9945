#!/bin/sh
# schemas.py, where PyPI's jsonschema is installed (PYTHON names the interpreter that has it).
python=${PYTHON:-python3}
if ! "$python" -c "import jsonschema" > /dev/null 2>&1; then
    echo "1..0 # SKIP $python has no module jsonschema"
    exit 0
fi
"$python" "${top_srcdir:-.}/tests/peers/schemas.py" "${top_builddir:-.}/tests/peers/walk"
