#!/bin/sh
# Prints the C source that carries the kernel files named as arguments.
set -e
echo '/* Made by embed.sh from kernels/: do not edit. */'
echo '#include "plugins/opencl/host.h"'
n=0
list=
for path in "$@"; do
    echo "static const unsigned char source_$n[] = {"
    od -An -v -tu1 "$path" | sed -e 's/^ *//' -e 's/  */,/g' -e 's/$/,/'
    echo '0};'
    list="$list    {\"${path##*/}\", source_$n, sizeof source_$n - 1},
"
    n=$((n + 1))
done
echo 'const cl_source cl_sources[] = {'
printf '%s' "$list"
echo '    {0, 0, 0},'
echo '};'
