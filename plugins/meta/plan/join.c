/*
 * Exchanges that can happen at once do: one meeting of the ranks instead of several.
 *
 * The planner makes an exchange where a node needs it, so an attention along cells gathers
 * k, writes it, gathers v, writes that, gathers q and attends.  What v and q are made from
 * does not wait for k: afterwards, all three are exchanged where the first was, and what
 * they need is computed before.  Only exchanges of the same ranks are joined: ranks that
 * wait for a third one before they must would lose what they could do meanwhile.
 *
 * On every rank the order of exchanges stays as it was, and so does the order of any two
 * nodes of which one writes what the other touches.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "planner.h"

/* The nodes of one rank in their new order. */
typedef struct line {
    uint32_t *node;    /* place in line -> node                                */
    uint32_t *barrier; /* stop -> place in line                                */
    uint32_t next;     /* the stop of the exchange that is looked at           */
    uint32_t *read, *written; /* memory -> the last exchange that needs it so (+ 1) */
    uint32_t *moves;   /* node -> the last exchange for which it moves (+ 1)    */
    uint32_t *room;    /* for as many nodes                                    */
} line;

typedef struct joiner {
    meta_planner *p;
    line lines[META_MAX_RANKS];
} joiner;

/* What memory a tensor is in.  Two bound tensors of the same use may be one: a host may bind
 * the same tensor of a store twice. */
static uint32_t memory_of(const meta_rgraph *g, int32_t tensor)
{
    const eng_tensor *t = &g->tensors[tensor];
    return t->binding < 0 ? (uint32_t)t->root : g->n_tensors + (t->use & ENG_USE_MASK);
}

static bool writes_operand(const eng_op_info *op, uint32_t i)
{
    return op && i < op->n_in && op->in[i].inout;
}

/* The memory that the node touches must be as it would have been. */
static void need(const joiner *j, uint32_t rank, const eng_node *n, uint32_t stamp)
{
    const meta_rgraph *g = &j->p->ranks[rank];
    const line *l = &j->lines[rank];
    const eng_op_info *op = meta_op_info(j->p->device, n->op);

    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        if (n->in[i] >= 0)
            (writes_operand(op, i) ? l->written : l->read)[memory_of(g, n->in[i])] = stamp;
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        if (n->out[i] >= 0)
            l->written[memory_of(g, n->out[i])] = stamp;
}

/* Must the node come before what is needed so far? */
static bool is_needed(const joiner *j, uint32_t rank, const eng_node *n, uint32_t stamp)
{
    const meta_rgraph *g = &j->p->ranks[rank];
    const line *l = &j->lines[rank];
    const eng_op_info *op = meta_op_info(j->p->device, n->op);

    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
        uint32_t m = n->in[i] < 0 ? 0 : memory_of(g, n->in[i]);
        if (n->in[i] >= 0 && (l->written[m] == stamp || (writes_operand(op, i) && l->read[m] == stamp)))
            return true;
    }
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++) {
        uint32_t m = n->out[i] < 0 ? 0 : memory_of(g, n->out[i]);
        if (n->out[i] >= 0 && (l->written[m] == stamp || l->read[m] == stamp))
            return true;
    }
    return false;
}

static const eng_node *node_at(const joiner *j, uint32_t rank, uint32_t place)
{
    return &j->p->ranks[rank].nodes[j->lines[rank].node[place]];
}

/* Finds what must move on one rank.  false: something of it is what an exchange brings at
 * the barrier before. */
static bool may_join(const joiner *j, uint32_t rank, uint32_t stamp)
{
    const line *l = &j->lines[rank];
    uint32_t place = l->barrier[l->next], before = l->barrier[l->next - 1];

    need(j, rank, node_at(j, rank, place), stamp);
    while (--place > before) {
        if (!is_needed(j, rank, node_at(j, rank, place), stamp))
            continue;
        need(j, rank, node_at(j, rank, place), stamp);
        l->moves[l->node[place]] = stamp;
    }
    for (uint32_t s = l->next; s-- > 0 && l->barrier[s] == place; place--) {
        if (is_needed(j, rank, node_at(j, rank, place), stamp))
            return false;
        if (place == 0)
            break;
    }
    return true;
}

/* On one rank: what moves goes before the barrier, the exchange to its end. */
static void join_rank(joiner *j, uint32_t rank, uint32_t stamp)
{
    line *l = &j->lines[rank];
    uint32_t last = l->barrier[l->next], before = l->barrier[l->next - 1], s = l->next - 1, n = 0;

    while (s > 0 && l->barrier[s - 1] + 1 == l->barrier[s])
        s--;
    uint32_t first = l->barrier[s];
    for (uint32_t place = before + 1; place < last; place++)
        if (l->moves[l->node[place]] == stamp)
            l->room[n++] = l->node[place];
    for (uint32_t k = s; k < l->next; k++)
        l->barrier[k] += n;
    l->barrier[l->next] = before + n + 1;
    for (uint32_t place = first; place <= before; place++)
        l->room[n++] = l->node[place];
    l->room[n++] = l->node[last];
    for (uint32_t place = before + 1; place < last; place++)
        if (l->moves[l->node[place]] != stamp)
            l->room[n++] = l->node[place];
    memcpy(l->node + first, l->room, n * sizeof *l->room);
}

/* Joins the exchange to the one before it, if that is one of the same ranks. */
static void join(joiner *j, uint32_t index)
{
    const meta_exchange *e = j->p->exchanges[index];
    uint32_t ranks = e->sources | e->targets;
    bool good = true;

    for (uint32_t left = ranks; left && good; left &= left - 1) {
        uint32_t r = meta_first(left), next = j->lines[r].next;
        const meta_stop *stops = j->p->ranks[r].stops;
        const meta_exchange *d = next ? j->p->exchanges[stops[next - 1].exchange] : NULL;
        good = d && (d->sources | d->targets) == ranks && may_join(j, r, index + 1);
    }
    j->p->exchanges[index]->joined = good;
    for (uint32_t left = ranks; left; left &= left - 1) {
        uint32_t r = meta_first(left);
        if (good)
            join_rank(j, r, index + 1);
        j->lines[r].next++;
    }
}

/* -- the whole ---------------------------------------------------------------------- */

static bool begin_line(joiner *j, uint32_t rank)
{
    const meta_rgraph *g = &j->p->ranks[rank];
    line *l = &j->lines[rank];
    size_t memories = (size_t)g->n_tensors + ENG_USE_MASK + 1;
    uint32_t n = 0;

    l->node = calloc(g->n_nodes + 1u, sizeof *l->node);
    l->barrier = calloc(g->n_stops + 1u, sizeof *l->barrier);
    l->read = calloc(memories, sizeof *l->read);
    l->written = calloc(memories, sizeof *l->written);
    l->moves = calloc(g->n_nodes + 1u, sizeof *l->moves);
    l->room = calloc(g->n_nodes + 1u, sizeof *l->room);
    if (!l->node || !l->barrier || !l->read || !l->written || !l->moves || !l->room)
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        l->node[i] = i;
        if (g->nodes[i].op == ENG_OP_EXTERN)
            l->barrier[n++] = i;
    }
    return true;
}

static void end_line(line *l)
{
    free(l->node);
    free(l->barrier);
    free(l->read);
    free(l->written);
    free(l->moves);
    free(l->room);
}

/* Puts the nodes of one rank's graph in their new order, and counts its sections again. */
static bool apply(joiner *j, uint32_t rank)
{
    meta_rgraph *g = &j->p->ranks[rank];
    const line *l = &j->lines[rank];
    eng_node *nodes = malloc((g->n_nodes + 1u) * sizeof *nodes);
    int32_t *origin = malloc((g->n_nodes + 1u) * sizeof *origin), section = 0;
    uint32_t stop = 0;

    for (uint32_t i = 0; nodes && origin && i < g->n_nodes; i++) {
        nodes[i] = g->nodes[l->node[i]];
        origin[i] = g->origin[l->node[i]];
        section += i > 0 && nodes[i - 1].op == ENG_OP_EXTERN && nodes[i].op != ENG_OP_EXTERN;
        nodes[i].section = section;
        if (nodes[i].op == ENG_OP_EXTERN)
            g->stops[stop++].section = section;
    }
    if (!nodes || !origin) {
        free(nodes);
        free(origin);
        return false;
    }
    free(g->nodes);
    free(g->origin);
    g->nodes = nodes;
    g->origin = origin;
    g->cap_nodes = g->cap_origin = g->n_nodes + 1u;
    g->section = section;
    return true;
}

void meta_join_exchanges(meta_planner *p)
{
    joiner j = {.p = p};
    bool room = p->n_exchanges > 1;

    for (uint32_t r = 0; r < p->n_ranks && room; r++)
        room = begin_line(&j, r);
    for (uint32_t i = 0; i < p->n_exchanges && room; i++)
        join(&j, i);
    for (uint32_t r = 0; r < p->n_ranks && room; r++)
        room = apply(&j, r);
    for (uint32_t r = 0; r < p->n_ranks; r++)
        end_line(&j.lines[r]);
    if (!room && p->n_exchanges > 1)
        meta_planner_nomem(p);
}
