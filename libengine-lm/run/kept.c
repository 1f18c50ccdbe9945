/*
 * Beginnings of texts that are kept: a tree of tokens, with the cells that hold
 * them and, of recurrent models, the states behind some.  It is one more holder
 * of cells and rows, beside the sequences: to keep a text copies nothing, and
 * neither does a sequence that begins with it (the tree of Zheng et al., SGLang,
 * 2023, with states).
 *
 * What only the tree holds counts against a budget of bytes.  Cells that only
 * it holds are given up as soon as sequences need them.  In both cases the
 * ends of texts go first, those found longest ago before others.  States have rows of
 * their own; where one long text fills them, those that stand closest are thinned out.
 *
 * Two sequences that ran the same tokens side by side have cells of their own;
 * so nodes follow one another by cells, and the same tokens may begin two of them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "run.h"

struct lm_kept_node {
    lm_kept_node *parent, *child, *next;
    int32_t *tokens, *cells;
    uint32_t n;    /* of them                                                     */
    int64_t end;   /* tokens of the text up to and with them                      */
    int32_t row;   /* with the states behind the last of them; -1: none           */
    uint64_t used; /* when it was found last                                      */
};

static lm_kept_node **list_of(lm_kept *k, lm_kept_node *parent)
{
    return parent ? &parent->child : &k->first;
}

static uint32_t alike(const int32_t *a, const int32_t *b, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* The shorter of a node and what is left of a text. */
static uint32_t shorter(const lm_kept_node *node, int64_t left)
{
    return node->n < left ? node->n : (uint32_t)left;
}

static bool recurrent(const eng_lm_context *c)
{
    return c->model->n.recurrent;
}

/* The node behind this one where parents come before their children; inside: with its children.  NULL: none.  Trees are as deep as
 * texts are long, so nothing here calls itself. */
static lm_kept_node *following(const lm_kept_node *node, bool inside)
{
    if (inside && node->child)
        return node->child;
    while (node && !node->next)
        node = node->parent;
    return node ? node->next : NULL;
}

/* -- finding -------------------------------------------------------------------------------------- */

static void find_in(lm_kept_node *first, const int32_t *tokens, int64_t n, bool states, lm_kept_found *best)
{
    bool whole;
    for (lm_kept_node *node = first; node; node = following(node, whole)) {
        int64_t begin = node->end - node->n;
        uint32_t k = alike(node->tokens, tokens + begin, shorter(node, n - begin));
        whole = k == node->n;
        if (begin + k > best->n && (!states || (whole && node->row >= 0)))
            *best = (lm_kept_found){.node = node, .n = begin + k};
    }
}

lm_kept_found lm_kept_find(const eng_lm_context *c, const int32_t *tokens, int64_t n)
{
    lm_kept_found best = {0};
    find_in(c->kept.first, tokens, n, recurrent(c), &best);
    return best;
}

static void touch(lm_kept *k, lm_kept_node *node)
{
    k->clock++;
    for (; node; node = node->parent)
        node->used = k->clock;
}

int32_t lm_kept_take(eng_lm_context *c, const lm_kept_found *found, int32_t *cells)
{
    int64_t n = found->n;
    for (const lm_kept_node *node = found->node; node; node = node->parent) {
        int64_t begin = node->end - node->n;
        memcpy(cells + begin, node->cells, (size_t)(n - begin) * sizeof *cells);
        n = begin;
    }
    touch(&c->kept, found->node);
    return found->node->row;
}

/* How far a sequence's cells lead into the tree: `in` of a node's; NULL and 0: nowhere. */
typedef struct place {
    lm_kept_node *node;
    uint32_t in;
    int64_t at;
} place;

static place walk(lm_kept *k, const lm_sequence *s, int64_t n)
{
    place p = {0};
    while (p.at < n && (!p.node || p.in == p.node->n)) {
        lm_kept_node *child = *list_of(k, p.node);
        while (child && child->cells[0] != s->cells[p.at])
            child = child->next;
        if (!child)
            break;
        p.node = child;
        p.in = alike(child->cells, s->cells + p.at, shorter(child, n - p.at));
        p.at += p.in;
    }
    return p;
}

/* -- giving up --------------------------------------------------------------------------------------- */

static void unlink_node(lm_kept *k, lm_kept_node *node)
{
    lm_kept_node **at = list_of(k, node->parent);
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
}

static void drop_row(eng_lm_context *c, lm_kept_node *node)
{
    if (node->row < 0)
        return;
    lm_rows_release(&c->rows, node->row);
    node->row = -1;
    c->kept.n_rows--;
}

/* The last cells of a node without children. */
static void drop_cells(eng_lm_context *c, lm_kept_node *node, uint32_t n)
{
    for (; n > 0; n--)
        lm_cells_release(c, node->cells[--node->n]);
    node->end = (node->parent ? node->parent->end : 0) + node->n;
}

static void remove_leaf(eng_lm_context *c, lm_kept_node *node)
{
    drop_row(c, node);
    drop_cells(c, node, node->n);
    unlink_node(&c->kept, node);
    free(node->tokens);
    free(node->cells);
    free(node);
}

static void remove_node(eng_lm_context *c, lm_kept_node *node)
{
    for (lm_kept_node *end = node, *parent; end; end = parent) {
        while (end->child)
            end = end->child;
        parent = end == node ? NULL : end->parent;
        remove_leaf(c, end);
    }
}

/* A node that is the end of a text; of recurrent models also what leads to it alone, and no state is behind. */
static void remove_end(eng_lm_context *c, lm_kept_node *node)
{
    for (lm_kept_node *parent; node; node = parent) {
        parent = node->parent;
        c->kept.given_up += node->n;
        remove_leaf(c, node);
        if (parent && (parent->child || parent->row >= 0 || !recurrent(c)))
            parent = NULL;
    }
}

/* Is the node's end among the sequence's tokens? */
static bool leads_to(const lm_kept_node *node, const lm_sequence *s)
{
    return node->end <= s->n_cells && node->cells[node->n - 1] == s->cells[node->end - 1];
}

/* Of the ends of texts the one found longest ago.  s: it is not on this sequence's way; NULL: nobody else has its
 * cells. */
static lm_kept_node *oldest_end(const eng_lm_context *c, lm_kept_node *first, const lm_sequence *s)
{
    lm_kept_node *oldest = NULL;
    for (lm_kept_node *node = first; node; node = following(node, true)) {
        if (node->child || node == c->kept.spared ||
            (s ? leads_to(node, s) : c->cell_first[node->cells[node->n - 1]] >= 0))
            continue;
        if (!oldest || node->used < oldest->used)
            oldest = node;
    }
    return oldest;
}

/* Gives up to `most` cells of one end; false: only the tree has none. */
static bool give_up(eng_lm_context *c, uint64_t most)
{
    lm_kept_node *end = oldest_end(c, c->kept.first, NULL);
    if (!end)
        return false;
    uint32_t n = 0;
    while (n < end->n && n < most && c->cell_first[end->cells[end->n - 1 - n]] < 0)
        n++;
    if (recurrent(c) || n == end->n) {
        remove_end(c, end);
        return true;
    }
    drop_cells(c, end, n);
    c->kept.given_up += n;
    return true;
}

void lm_kept_make_room(eng_lm_context *c, uint32_t n)
{
    while (c->p.n_cells - c->cells_used < n && give_up(c, n - (c->p.n_cells - c->cells_used)))
        ;
}

uint64_t lm_kept_bytes(const eng_lm_context *c)
{
    return c->cells_kept * c->kept.cell_bytes + c->kept.n_rows * c->kept.row_bytes;
}

void lm_kept_trim(eng_lm_context *c)
{
    const lm_kept *k = &c->kept;
    for (uint64_t bytes; (bytes = lm_kept_bytes(c)) > k->budget;)
        if (!give_up(c, (bytes - k->budget + k->cell_bytes - 1) / (k->cell_bytes ? k->cell_bytes : 1)))
            break;
}

/* Of the states on a sequence's way, where tokens up to `end` are to be the next, the one whose neighbours are closest.
 * false: there is none. */
static bool thin_out(eng_lm_context *c, lm_kept_node *node, int64_t end)
{
    lm_kept_node *best = NULL;
    int64_t least = INT64_MAX;
    while (node && node->row < 0)
        node = node->parent;
    for (lm_kept_node *before; node; end = node->end, node = before) {
        before = node->parent;
        while (before && before->row < 0)
            before = before->parent;
        int64_t gap = end - (before ? before->end : 0);
        if (gap < least && node != c->kept.spared) {
            least = gap;
            best = node;
        }
    }
    if (best)
        drop_row(c, best);
    return best != NULL;
}

/* One row more for the tree.  false: the others are all behind the n tokens. */
static bool make_row(eng_lm_context *c, const lm_sequence *s, int64_t n)
{
    lm_kept *k = &c->kept;
    while (k->n_rows >= k->most_rows) {
        lm_kept_node *end = oldest_end(c, k->first, s);
        if (end)
            remove_end(c, end);
        else if (!thin_out(c, walk(k, s, n).node, n))
            return false;
    }
    return true;
}

void lm_kept_cut(eng_lm_context *c, uint32_t sequence, int64_t n)
{
    const lm_sequence *s = &c->sequences[sequence];
    place p = walk(&c->kept, s, n + 1);
    if (p.at <= n)
        return;
    if (p.in == 1) {
        remove_node(c, p.node);
        return;
    }
    while (p.node->child)
        remove_node(c, p.node->child);
    drop_row(c, p.node);
    drop_cells(c, p.node, p.node->n - p.in + 1);
}

void lm_kept_clear(eng_lm_context *c)
{
    while (c->kept.first)
        remove_node(c, c->kept.first);
}

/* -- keeping -------------------------------------------------------------------------------------------- */

static lm_kept_node *new_node(const int32_t *tokens, const int32_t *cells, uint32_t n)
{
    lm_kept_node *node = calloc(1, sizeof *node);
    int32_t *own_tokens = calloc(n, sizeof *tokens), *own_cells = calloc(n, sizeof *cells);
    if (!node || !own_tokens || !own_cells) {
        free(node);
        free(own_tokens);
        free(own_cells);
        return NULL;
    }
    memcpy(own_tokens, tokens, n * sizeof *tokens);
    memcpy(own_cells, cells, n * sizeof *cells);
    *node = (lm_kept_node){.tokens = own_tokens, .cells = own_cells, .n = n, .row = -1};
    return node;
}

static void link_node(lm_kept *k, lm_kept_node *parent, lm_kept_node *node)
{
    lm_kept_node **list = list_of(k, parent);
    node->parent = parent;
    node->end = (parent ? parent->end : 0) + node->n;
    node->next = *list;
    *list = node;
}

/* The first n tokens of a node become one of their own, before it: it is given.  NULL: no memory. */
static lm_kept_node *split(lm_kept *k, lm_kept_node *node, uint32_t n)
{
    lm_kept_node *upper = new_node(node->tokens, node->cells, n);
    if (!upper)
        return NULL;
    unlink_node(k, node);
    link_node(k, node->parent, upper);
    upper->used = node->used;
    node->n -= n;
    memmove(node->tokens, node->tokens + n, node->n * sizeof *node->tokens);
    memmove(node->cells, node->cells + n, node->n * sizeof *node->cells);
    link_node(k, upper, node);
    return upper;
}

/* The node that ends with token n - 1 of the sequence.  NULL: no memory, which keeps nothing from running. */
static lm_kept_node *node_for(eng_lm_context *c, const lm_sequence *s, int64_t n)
{
    place p = walk(&c->kept, s, n);
    lm_kept_node *node = p.node;
    if (node && p.in < node->n && !(node = split(&c->kept, node, p.in)))
        return NULL;
    if (p.at == n)
        return node;
    lm_kept_node *more = new_node(s->tokens + p.at, s->cells + p.at, (uint32_t)(n - p.at));
    if (!more)
        return NULL;
    link_node(&c->kept, node, more);
    for (uint32_t i = 0; i < more->n; i++)
        lm_cells_hold(c, more->cells[i]);
    return more;
}

void lm_kept_add(eng_lm_context *c, uint32_t sequence, int64_t n)
{
    const lm_sequence *s = &c->sequences[sequence];
    if (c->kept.budget == 0 || s->broken || n < 1 || n > s->length || n > s->whole)
        return;
    int32_t row = -1;
    if (recurrent(c)) {
        if (s->length - n >= c->rows.n_history[sequence])
            return;
        row = lm_rows_history(&c->rows, sequence)[s->length - n];
    }
    lm_kept_found known = lm_kept_find(c, s->tokens, n);
    if (known.n == n) {
        touch(&c->kept, known.node);
        return;
    }
    if (row >= 0 && !make_row(c, s, n))
        return;
    lm_kept_node *node = node_for(c, s, n);
    if (node && row >= 0) {
        node->row = row;
        lm_rows_hold(&c->rows, row);
        c->kept.n_rows++;
    }
    touch(&c->kept, node);
    lm_kept_trim(c);
}

/* -- states at a stride, and at the ends of prompts --------------------------------------------------------- */

/* Prompts are kept but for their last token, which is run again for its logits. */
static int64_t prompt_end(const eng_lm_context *c, const lm_sequence *s)
{
    return s->prompt - (c->p.n_snapshots > 1);
}

uint32_t lm_kept_part(const eng_lm_context *c, uint32_t sequence, int64_t at, uint32_t n)
{
    const lm_sequence *s = &c->sequences[sequence];
    if (c->kept.budget == 0 || !recurrent(c) || s->whole < at)
        return n;
    int64_t end = (at / c->kept.stride + 1) * c->kept.stride, prompt = prompt_end(c, s);
    if (prompt > at && prompt < end)
        end = prompt;
    return at + n - end >= c->p.n_snapshots ? (uint32_t)(end - at) : n;
}

void lm_kept_passed(eng_lm_context *c, uint32_t sequence, int64_t before)
{
    const lm_sequence *s = &c->sequences[sequence];
    if (c->kept.budget == 0 || !recurrent(c))
        return;
    int64_t end = s->length / c->kept.stride * c->kept.stride, prompt = prompt_end(c, s);
    if (end > before)
        lm_kept_add(c, sequence, end);
    if (prompt > before && prompt <= s->length)
        lm_kept_add(c, sequence, prompt);
}
