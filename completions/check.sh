#!/bin/sh
# The completions offer each long option that --help tells of, and no other; what they offer for values is in --help too.  Each
# shell that is here is asked itself, with the file loaded as it loads it; of others the file is read.  TAP.
set -u
. "${top_srcdir:-.}/tests/tap.sh"
LC_ALL=C
PATH=$out:$PATH
export LC_ALL PATH

for program in $(cd "$out" && find engine-* -prune -type f -perm -100); do
    "$out/$program" --help > "$tmp/help" 2>&1
    sed -n 's/^ \{1,8\}\(-[A-Za-z]*, \)\{0,1\}\(--[a-z][a-z-]*\).*/\2/p' "$tmp/help" | sort -u > "$tmp/want"
    for shell in bash zsh fish; do
        case $shell in zsh) file=$out/completions/zsh/_$program ;; fish) file=$out/completions/fish/$program.fish ;;
            *) file=$out/completions/bash/$program ;; esac
        asked=
        command -v $shell > "$tmp/log" || asked=", read without $shell"
        case $shell$asked in
            bash) COMP_LINE="$program --" COMP_POINT=$((${#program} + 3)) bash -c '. "$1"; COMP_WORDS=("$2" --); COMP_CWORD=1
                    _${2//-/_}; printf "%s\n" "${COMPREPLY[@]}"' - "$file" "$program" > "$tmp/got" 2> "$tmp/log" ;;
            zsh) zsh -fc '_arguments() { print -rl -- "$@" }; . "$1"' - "$file" 2> "$tmp/log" |
                    sed -n "s/^\((.*)\|[*]\)\{0,1\}\(--[a-z-]*[a-z]\).*/\2/p" > "$tmp/got" ;;
            fish) HOME=$tmp fish --no-config -c 'source $argv[1]; complete -C "$argv[2] --"' "$file" "$program" 2> "$tmp/log" |
                    sed 's/[= 	].*//' > "$tmp/got" ;;
            fish*) sed -n 's/.* -l \([a-z-]*\).*/--\1/p' "$file" > "$tmp/got" ;;
            zsh*) sed -n "s/^    '\((.*)\|[*]\)\{0,1\}\(--[a-z-]*[a-z]\).*/\2/p" "$file" > "$tmp/got" ;;
            *) grep -oE -e '--[a-z][a-z-]*' "$file" > "$tmp/got" ;;
        esac
        sort -u "$tmp/got" | diff "$tmp/want" - >> "$tmp/log" && test "$(wc -l < "$tmp/want")" -gt 4
        result $? "$shell: the $(wc -l < "$tmp/want") long options of $program$asked"
    done
    # the words that are offered as values
    sed -n "s/.* list='\(.*\)' ;;/\1/p" "$out/completions/bash/$program" | tr ' ' '\n' | sort -u | while read -r word; do
        grep -qw -e "$word" "$tmp/help" || echo "$word"
    done > "$tmp/log"
    test ! -s "$tmp/log"
    result $? "what $program takes as values is in --help"
done

# offers LINE WANTED: what bash puts behind the words of LINE
offers()
{
    COMP_LINE=$1 COMP_POINT=${#1} bash -c '. "$1"; read -ra COMP_WORDS <<< "$2"
        case $2 in *" ") COMP_WORDS+=("") ;; esac
        last=${COMP_WORDS[-1]} # readline cuts at = and :
        case $last in *[=:]*) COMP_WORDS[-1]=${last##*[=:]}; test "${COMP_WORDS[-1]}" || COMP_WORDS[-1]=${last: -1} ;; esac
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        name=${COMP_WORDS[0]}; _${name//-/_}; echo "${COMPREPLY[@]}"' - "$out/completions/bash/${1%% *}" "$1" > "$tmp/log" 2>&1
    test "$(cat "$tmp/log")" = "$2"
    result $? "'$1' is followed by '$2'"
}
if command -v bash > "$tmp/log"; then
    offers "engine-generate -sm " "tensor layer none"
    offers "engine-generate --split-mode=l" "layer"
    offers "engine-generate --explain=" "text json dot"
    offers "engine-generate --explain " ""
    offers "engine-generate -m " ""
    offers "engine-quantize a b q5_" "q5_0 q5_1 q5_K"
    offers "engine-quantize a b Q4_K" "Q4_K_S Q4_K_M"
    offers "engine-quantize a" ""
    offers "engine-probe --format=" "tsv"
    offers "engine-bench --compare " ""
    if has cpu; then
        offers "engine-generate -d cp" "cpu"
        offers "engine-probe cp" "cpu"
    fi
    mkdir "$tmp/bin"
    printf '#!/bin/sh\nprintf "id\\tkind\\nopencl:0\\tgpu\\nopencl:1\\tgpu\\n"\n' > "$tmp/bin/engine-probe"
    chmod +x "$tmp/bin/engine-probe"
    PATH=$tmp/bin:$PATH
    offers "engine-generate -d opencl:" "0 1"
    offers "engine-generate --device=op" "opencl:0 opencl:1"
else
    skip "values behind options" "there is no bash"
fi
finish
