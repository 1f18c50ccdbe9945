# Completions of a program, made of what its --help says:
#     PROGRAM --help | awk -v program=PROGRAM -v shell=bash|zsh|fish -f make.awk
# What an option takes is told by the word behind it: FILE, DIR, DEVICE, or words that are listed here; a test looks whether
# --help has them.
BEGIN {
    split("--split-mode=tensor layer none|--precision=exact fast|--layout=auto file packed|--rotate-kv=auto on off|" \
          "--cache-type-k=f32 f16 bf16 q8_0 q4_0 q4_1 q5_0 q5_1 iq4_nl|--cache-type-v=f32 f16 bf16 q8_0 q4_0 q4_1 q5_0 q5_1 iq4_nl|" \
          "--draft-from=ngram|--explain=text json dot|--format=tsv", lists, "|")
    for (i in lists) {
        at = index(lists[i], "=")
        words[substr(lists[i], 1, at - 1)] = substr(lists[i], at + 1)
    }
    devices = "engine-probe --timeout=5 --format=tsv 2>/dev/null | sed -n '2,$s/\t.*//p'"
    positional = ""
}

# A line of an option: "  -m, --model FILE   the model"; "[=FORMAT]": a value that may be there, behind "=" alone
/^ +(-[A-Za-z]+, )?--[a-z]/ {
    n++
    line = $0
    sub(/^ +/, "", line)
    if (match(line, /^-[A-Za-z]+, /)) {
        short[n] = substr(line, 1, RLENGTH - 2)
        line = substr(line, RLENGTH + 1)
    }
    match(line, /^--[a-z-]+/)
    long[n] = substr(line, 1, RLENGTH)
    line = substr(line, RLENGTH + 1)
    if (match(line, /^(\[=[A-Z]+\]|[= ][A-Za-z][A-Za-z=.,]*)/) && substr(line, 1, 2) != "  ") {
        value[n] = substr(line, 1, RLENGTH)
        line = substr(line, RLENGTH + 1)
    }
    optional[n] = value[n] ~ /^\[/
    sub(/^\[?[= ]?/, "", value[n])
    sub(/\]$/, "", value[n])
    wanted = !about(line)
    next
}
wanted && /^   / { wanted = !about($0); next }
{ wanted = 0 }
# The topics of --help, the positional arguments
/--help\[=TOPIC\]/ { next }
/^ *or a mix of them.* one of / { mixes = $0; sub(/.*one of /, "", mixes); gsub(/,/, "", mixes); types = types " " mixes }
/^ *TYPE is one of / { types = $0; sub(/.*one of /, "", types); gsub(/,/, "", types); positional = "quantize" }
/^Usage: .*\[DEVICE\]\.\.\./ { positional = "devices" }

# The first line about option number n; false: there is none
function about(text) {
    sub(/^ +/, "", text)
    description[n] = text
    return text != ""
}

# What is offered for option k: words, "FILE", "DIR", "DEVICE" or nothing
function offer(k,   list) {
    if (long[k] in words) return words[long[k]]
    if (value[k] == "TOPIC") { list = description[k]; sub(/.*: /, "", list); gsub(/,/, "", list); return list }
    if (value[k] ~ /\.(json|svg)$/) return "FILE"
    if (value[k] == "FILE" || value[k] == "DIR" || value[k] == "DEVICE") return value[k]
    return ""
}

END {
    if (shell == "bash") bash()
    else if (shell == "zsh") zsh()
    else fish()
}

function head() { return "completion of " program ", made of its --help by completions/make.awk" }

function bash(   k, what, all, plain, name) {
    name = program
    gsub(/-/, "_", name)
    for (k = 1; k <= n; k++) all = all (k > 1 ? " " : "") long[k]
    print "# bash " head()
    print "_" name "()"
    print "{"
    print "    local line=${COMP_LINE:0:COMP_POINT} cur=${COMP_WORDS[COMP_CWORD]} word before option value= list="
    print "    word=${line##* } before=${line% *} before=${before##* } option=$before value=$word"
    print "    COMPREPLY=()"
    print "    case $word in"
    print "        --*=*) option=${word%%=*} value=${word#*=} ;;"
    print "        -*) COMPREPLY=($(compgen -W '" all "' -- \"$word\")); return ;;"
    print "    esac"
    print "    case $option in"
    for (k = 1; k <= n; k++) {
        what = offer(k)
        if (value[k] == "") continue
        if (what == "DIR") print "        " long[k] ") compopt -o dirnames; return ;;"
        else if (what == "" || what == "FILE") plain = plain (plain != "" ? " | " : "") (short[k] != "" ? short[k] " | " : "") long[k]
        else {
            # a value that may be there is no word of its own
            printf "        %s) %slist=", (short[k] != "" && !optional[k] ? short[k] " | " : "") long[k],
                optional[k] ? "test \"$word\" != \"$value\" || return; " : ""
            print (what == "DEVICE" ? "$(" devices ")" : "'" what "'") " ;;"
        }
    }
    if (plain != "") print "        " plain ") return ;;"
    if (positional == "devices") print "        *) list=$(" devices ") ;;"
    else if (positional == "quantize") print "        *) test $COMP_CWORD -lt 3 || list='" types "' ;;"
    print "    esac"
    print "    # bash has cut the word at = and :, and wants what is behind"
    print "    case $cur in = | :) cur= ;; esac"
    print "    local skip=$((${#value} - ${#cur})) one"
    print "    for one in $(compgen -W \"$list\" -- \"$value\"); do COMPREPLY+=(\"${one:skip}\"); done"
    print "}"
    print "complete -o default -F _" name " " program
}

# For text between [ and ] in '...'
function quoted(text) {
    gsub(/\[|\]|:|\\/, "\\\\&", text)
    gsub(/'/, "'\\''", text)
    return text
}

function zsh(   k, what, action, both) {
    print "#compdef " program
    print "# zsh " head()
    print "_" zshname() "_devices() { local -a found; found=(${(f)\"$(" devices ")\"}); compadd -a found }"
    print "_arguments \\"
    for (k = 1; k <= n; k++) {
        what = offer(k)
        action = what == "FILE" ? "_files" : what == "DIR" ? "_files -/" : what == "DEVICE" ? "_" zshname() "_devices" : what != "" ? "(" what ")" : " "
        both = "[" quoted(description[k]) "]" (value[k] == "" ? "" : (optional[k] ? "::" : ":") value[k] ":" action)
        if (value[k] != "") both = (optional[k] ? "=-" : "=") both
        if (short[k] != "") {
            print "    '(" short[k] " " long[k] ")" short[k] "[" quoted(description[k]) "]" \
                  (value[k] == "" || optional[k] ? "" : ":" value[k] ":" action) "' \\"
            print "    '(" short[k] " " long[k] ")" long[k] both "' \\"
        } else
            print "    '*" long[k] both "' \\"
    }
    if (positional == "devices") print "    '*:device:_" zshname() "_devices'"
    else if (positional == "quantize") print "    '1:model:_files' '2:new model:_files' '3:type:(" types ")'"
    else print "    '*: :'"
}
function zshname(   name) { name = program; gsub(/-/, "_", name); return name }

function fish(   k, what, line) {
    print "# fish " head()
    print "complete -c " program " -f"
    for (k = 1; k <= n; k++) {
        what = offer(k)
        line = "complete -c " program
        if (short[k] != "") line = line (length(short[k]) == 2 ? " -s " : " -o ") substr(short[k], 2)
        line = line " -l " substr(long[k], 3)
        if (value[k] != "" && !optional[k]) line = line " -r"
        if (what == "FILE") line = line " -F"
        else if (what == "DIR") line = line " -a '(__fish_complete_directories)'"
        else if (what == "DEVICE") line = line " -a '(" fishes(devices) ")'"
        else if (what != "") line = line " -a '" what "'"
        print line (description[k] != "" ? " -d '" fishes(description[k]) "'" : "")
    }
    if (positional == "devices") print "complete -c " program " -a '(" fishes(devices) ")'"
    else if (positional == "quantize") {
        print "complete -c " program " -F"
        print "complete -c " program " -a '" types "'"
    }
}
function fishes(text) { gsub(/\\|'/, "\\\\&", text); return text }
