#!/bin/sh
# templates.py, where PyPI's jinja2 is installed (PYTHON names the interpreter that has it).
python=${PYTHON:-python3}
if ! "$python" -c "import jinja2" > /dev/null 2>&1; then
    echo "1..0 # SKIP $python has no module jinja2"
    exit 0
fi
"$python" "${top_srcdir:-.}/tests/peers/templates.py" "${top_builddir:-.}/tests/peers/render" "${top_srcdir:-.}/tests/data/templates"
