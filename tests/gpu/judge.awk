# awk -f judge.awk BUDGET MEASURED: the worst of each kernel and kind of card, beside its budget; 1 if anything is over it.
# A card that has a line of its own is judged by that.
#
# BUDGET: kernel, kind, most registers, most bytes of scratch memory (spills among them), of local memory, fewest bytes of an
# average load ('-': not judged), and fewest matrix instructions, where that is a number.  MEASURED: what check-gpu-build --one prints.

function kind(card) { return card ~ /^sm_/ ? "nvidia" : card ~ /^gfx/ ? "amd" : "" }
function over(what, is, most) { if (is > most) { bad = bad sprintf(" %s %s, budget %s;", what, is, most) } }

FNR == 1 { file++ }
file == 1 && /^[^#]/ && NF >= 6 { at = $1 " " $2; known[at] = 1; registers[at] = $3; scratch[at] = $4; memory[at] = $5; width[at] = $6
                                 if ($7 ~ /^[0-9]+$/) units[at] = $7; next }
file == 1 { next }
kind($2) == "" { next }
{
    at = $3 " " (($3 " " $2) in known ? $2 : kind($2))
    n[at]++
    if ($4 > used[at]) { used[at] = $4; by[at] = $1 " " $2 }
    if ($5 > spilt[at]) { spilt[at] = $5; spilt_by[at] = $1 " " $2 }
    if ($6 > local[at]) local[at] = $6
    if ($7 && (!(at in load) || $8 / $7 < load[at])) load[at] = $8 / $7
    if ($9 > matrix[at]) matrix[at] = $9
    if (!(at in fewest) || $9 < fewest[at]) fewest[at] = $9
}
END {
    printf "%-26s %-7s %4s %9s %7s %6s %5s %6s  %s\n", "kernel", "cards", "of", "registers", "scratch", "local", "load", "matrix", "most registers by"
    for (at in n) {
        split(at, part, " ")
        line = sprintf("%-26s %-7s %4d %9d %7d %6d %5.1f %6d  %s", part[1], part[2], n[at], used[at], spilt[at], local[at], load[at], matrix[at], by[at])
        bad = ""
        if (!known[at]) bad = " it has no line in tests/gpu/budget"
        else {
            over("registers", used[at], registers[at])
            over("scratch", spilt[at], scratch[at])
            over("local memory", local[at], memory[at])
            if (at in units && fewest[at] < units[at]) bad = bad sprintf(" matrix instructions %d, budget %d;", fewest[at], units[at])
            if (width[at] != "-" && load[at] < width[at]) bad = bad sprintf(" loads %.1f bytes, budget %s;", load[at], width[at])
        }
        print line | "sort"
        if (bad != "") failures[++m] = "FAIL " at ":" bad (spilt[at] > scratch[at] ? " (" spilt_by[at] ")" : "")
    }
    close("sort")
    for (i = 1; i <= m; i++) print failures[i]
    exit m > 0
}
