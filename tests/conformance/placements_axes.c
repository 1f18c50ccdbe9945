/* Names of axes after the letters of an op's row: letters that operands share are axes
 * that they share. */
#include "config.h"

#include "placements.h"

#include <stdio.h>
#include <string.h>

#define TEXT 96

typedef struct letters {
    const eng_op_info *op;
    int64_t extent[ENG_MAX_LETTERS]; /* -1: not known */
    bool swapped;                    /* gated_delta_net, grouped: (r h) reads (h r) */
} letters;

static const eng_rule_operand *rule_of(const letters *l, const cf_case *c, uint32_t i)
{
    return i < c->n_in ? &l->op->in[i] : &l->op->out[i - c->n_in];
}

static uint8_t letter_at(const letters *l, const eng_rule_dim *d, uint32_t k)
{
    return d->letters[l->swapped && d->n_letters == 2 ? 1 - k : k];
}

/* Learns the one unknown letter of a dimension. */
static bool learn(letters *l, const eng_rule_dim *d, int64_t ne)
{
    int64_t known = 1;
    int unknown = -1, n = 0;

    if (!d->n_letters || d->letters[0] == ENG_LETTER_PRIVATE || (d->broadcast && ne == 1))
        return false;
    for (uint32_t k = 0; k < d->n_letters; k++) {
        if (l->extent[d->letters[k]] >= 0) {
            known *= l->extent[d->letters[k]];
        } else {
            unknown = d->letters[k];
            n++;
        }
    }
    if (n != 1 || known <= 0)
        return false;
    l->extent[unknown] = ne / known;
    return true;
}

static void learn_extents(letters *l, cf_case *c)
{
    bool again = true;

    for (uint32_t i = 0; i < ENG_MAX_LETTERS; i++)
        l->extent[i] = -1;
    while (again) {
        again = false;
        for (uint32_t i = 0; i < c->n_in + ENG_MAX_OUTPUTS; i++) {
            const cf_operand *o = cf_operand_at(c, i);
            for (uint32_t d = 0; o && d < ENG_MAX_RANK; d++)
                again |= learn(l, &rule_of(l, c, i)->dims[d], o->seen.ne[d]);
        }
    }
}

/* The smallest proper factor of the extent; 0: none. */
static int64_t part_of(int64_t extent)
{
    for (int64_t p = 2; p * p <= extent; p++)
        if (extent % p == 0)
            return p;
    return 0;
}

/* One letter as segments of factors. */
static void spell(char *text, size_t room, const char *name, int64_t extent, int64_t block, int naming, bool alone)
{
    long long n = (long long)extent, inner = (long long)part_of(extent), outer = inner;
    size_t at = strlen(text);

    if (block > 1) { /* blocks stay whole */
        inner = n > block ? block : 0;
        outer = n % (4 * block) == 0 ? 2 : 0;
    }
    if (naming == 1 && inner)
        snprintf(text + at, room - at, " %s:%lld *:%lld", name, n / inner, inner);
    else if (naming == 2 && outer)
        snprintf(text + at, room - at, " *:%lld %s:%lld", outer, name, n / outer);
    else if (naming == 3 && alone && n > 2 && n % (2 * block) == 0)
        snprintf(text + at, room - at, " %s:%lld | %s:%lld", name, n / 2, name, n / 2);
    else
        snprintf(text + at, room - at, " %s:%lld", name, n);
}

static void add_split(cf_splits *s, const char *name)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->name[i], name) == 0)
            return;
    if (s->n < sizeof s->name / sizeof *s->name)
        snprintf(s->name[s->n++], sizeof s->name[0], "%s", name);
}

/* Notes the axes in a text of factors that have at least `units` units of which each
 * is whole blocks. */
static void note_splits(cf_splits *s, const char *text, int64_t block, int64_t units)
{
    int64_t inside = strstr(text, " *:") ? block : 1; /* a block inside of the axis */

    for (const char *p = text; *p;) {
        char name[12];
        long long extent = 0;
        p += strspn(p, " |");
        if (*p && sscanf(p, "%11[^:]:%lld", name, &extent) == 2 && name[0] != '*' && extent * inside / block >= units)
            add_split(s, name);
        p += strcspn(p, " ");
    }
}

static void dim_text(const letters *l, const eng_rule_operand *rule, uint32_t d, int64_t ne, int64_t block, int naming,
                     char *text)
{
    const eng_rule_dim *rd = &rule->dims[d];
    char name[12];
    int64_t product = 1;

    text[0] = '\0';
    if (ne < 2)
        return;
    for (uint32_t k = 0; k < rd->n_letters && rd->letters[0] != ENG_LETTER_PRIVATE; k++)
        product *= l->extent[rd->letters[k]];
    if (rd->n_letters > 1 && product == ne) {
        for (uint32_t k = 0; k < rd->n_letters; k++) {
            uint8_t letter = letter_at(l, rd, k);
            if (l->extent[letter] > 1)
                spell(text, TEXT, l->op->letter_name[letter], l->extent[letter], 1, naming, false);
        }
    } else if (rd->n_letters == 1 && rd->letters[0] != ENG_LETTER_PRIVATE) {
        spell(text, TEXT, l->op->letter_name[rd->letters[0]], ne, block, naming, true);
    } else {
        snprintf(name, sizeof name, "%.7s%u", rule->name, (unsigned)d);
        spell(text, TEXT, name, ne, block, naming, true);
    }
    memmove(text, text + strspn(text, " "), strlen(text + strspn(text, " ")) + 1);
}

/* Back through the views: from the dimensions that the op sees to those in memory. */
static void to_memory(const cf_operand *o, char seen[ENG_MAX_RANK][TEXT])
{
    int64_t ne[CF_MAX_VIEWS + 1][ENG_MAX_RANK];

    memcpy(ne[0], o->ne, sizeof ne[0]);
    for (int k = 0; k < o->n_views; k++)
        for (int d = 0; d < ENG_MAX_RANK; d++) {
            const int64_t *ip = o->view[k].ip;
            ne[k + 1][d] = o->view[k].op == ENG_OP_PERMUTE ? ne[k][ip[d]] : ne[k][d];
            if (o->view[k].op == ENG_OP_SLICE && ip[ENG_SLICE_DIM] == d)
                ne[k + 1][d] = ip[ENG_SLICE_LENGTH];
        }
    for (int k = o->n_views - 1; k >= 0; k--) {
        const int64_t *ip = o->view[k].ip;
        char from[ENG_MAX_RANK][TEXT];
        memcpy(from, seen, sizeof from);
        if (o->view[k].op == ENG_OP_PERMUTE)
            for (int d = 0; d < ENG_MAX_RANK; d++)
                memcpy(seen[ip[d]], from[d], TEXT);
        if (o->view[k].op != ENG_OP_SLICE)
            continue;
        int d = (int)ip[ENG_SLICE_DIM]; /* the longer dimension is one range of the axis */
        int name = (int)strcspn(from[d] + (from[d][0] == '*' ? strcspn(from[d], " ") + 1 : 0), ":");
        const char *at = from[d] + (from[d][0] == '*' ? strcspn(from[d], " ") + 1 : 0);
        if (from[d][0])
            snprintf(seen[d], TEXT, "%.*s:%lld", name, at, (long long)ne[k][d]);
    }
}

/* Is dimension 0 part of longer rows?  Then its axis has another extent, and a partition that
 * other tensors give it, with no regard to the blocks. */
static bool part_of_row(const cf_operand *o)
{
    for (int k = 0; k < o->n_views; k++)
        if (o->view[k].op == ENG_OP_SLICE && o->view[k].ip[ENG_SLICE_DIM] == 0)
            return true;
    return false;
}

static void name_operand(cf_case *c, const letters *l, uint32_t i, int naming)
{
    cf_operand *o = cf_operand_at(c, i);
    char text[ENG_MAX_RANK][TEXT];

    memset(&o->axes, 0, sizeof o->axes);
    memset(&o->seen_axes, 0, sizeof o->seen_axes);
    o->splits.n = o->seen_splits.n = 0;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        int64_t block = d ? 1 : ref_block(o->type);
        dim_text(l, rule_of(l, c, i), d, o->seen.ne[d], block, naming, text[d]);
        if (text[d][0])
            cf_axes_add(c->suite, &o->seen_axes, (int)d, text[d]);
        /* an axis of fewer blocks than ranks is no way to cut: forcing it is refused */
        if (block == 1 || !part_of_row(o))
            note_splits(&o->seen_splits, text[d], block, block > 1 && c->suite->n_main > 2 ? c->suite->n_main : 2);
    }
    to_memory(o, text);
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        if (text[d][0])
            cf_axes_add(c->suite, &o->axes, (int)d, text[d]);
        note_splits(&o->splits, text[d], 1, 2);
    }
}

void cf_letter_extents(cf_case *c, int64_t extent[ENG_MAX_LETTERS])
{
    letters l = {.op = eng_op_get(c->op)};

    learn_extents(&l, c);
    memcpy(extent, l.extent, sizeof l.extent);
}

void cf_name_axes(cf_case *c, int naming)
{
    letters l = {.op = eng_op_get(c->op)};

    l.swapped = c->op == ENG_OP_GATED_DELTA_NET && c->ip[ENG_GDN_GROUPED];
    learn_extents(&l, c);
    for (uint32_t i = 0; i < c->n_in + ENG_MAX_OUTPUTS; i++)
        if (cf_operand_at(c, i))
            name_operand(c, &l, i, naming);
}
