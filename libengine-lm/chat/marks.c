/*
 * Where the bytes of texts come from: what was given, by messages and the like, is marked, and the template's own is
 * not.
 *
 * A byte's mark lies beside it: texts of a run are in pieces of memory with as many marks behind them, which are found
 * by a byte's address.  So parts of texts have their marks without a word, what is copied takes them along (tpl_add),
 * and only who makes other characters of a text says of which (tpl_mark_as).  Texts outside of the pieces are the
 * template's.
 */
#include "config.h"

#include <string.h>

#include "marks.h"

#define FIRST_PIECE 4096
#define LARGEST_PIECE (1u << 20)

typedef struct piece {
    const char *at; /* `room` bytes, then as many marks                       */
    size_t used, room;
} piece;

struct tpl_marks {
    piece *at; /* by address                                                 */
    size_t n, room;
    size_t open; /* has room, perhaps                                        */
    size_t next; /* how large another one will be                            */
};

bool tpl_marks_begin(tpl_run *r)
{
    r->marks = eu_arena_array(&r->memory, 1, sizeof *r->marks);
    if (!r->marks)
        r->status = eng_fail_code(EU_NO_MEMORY("the texts of a template"));
    return r->marks != NULL;
}

/* The piece that an address lies in; NULL: none. */
static const piece *piece_of(const struct tpl_marks *m, const char *at)
{
    size_t low = 0, high = m->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const piece *p = &m->at[middle];
        if ((uintptr_t)at < (uintptr_t)p->at)
            high = middle;
        else if ((uintptr_t)at - (uintptr_t)p->at >= p->room)
            low = middle + 1;
        else
            return p;
    }
    return NULL;
}

static bool add_piece(tpl_run *r, size_t n)
{
    struct tpl_marks *m = r->marks;
    size_t i = 0;
    if (m->n == m->room) {
        piece *more = eu_arena_array(&r->memory, 2 * m->room + 8, sizeof *more);
        if (!more)
            return false;
        if (m->n)
            memcpy(more, m->at, m->n * sizeof *more);
        m->at = more;
        m->room = 2 * m->room + 8;
    }
    m->next = m->next ? m->next : FIRST_PIECE;
    const size_t room = n > m->next ? n : m->next;
    const char *at = eu_arena_array(&r->memory, room, 2);
    if (!at)
        return false;
    m->next = m->next < LARGEST_PIECE ? 2 * m->next : m->next;
    for (i = m->n++; i > 0 && (uintptr_t)m->at[i - 1].at > (uintptr_t)at; i--)
        m->at[i] = m->at[i - 1];
    m->at[i] = (piece){at, 0, room};
    m->open = i;
    return true;
}

char *tpl_marks_room(tpl_run *r, size_t n)
{
    struct tpl_marks *m = r->marks;
    if ((!m->n || m->at[m->open].room - m->at[m->open].used < n) && !add_piece(r, n))
        return NULL;
    piece *p = &m->at[m->open];
    char *text = (char *)p->at + p->used;
    p->used += n;
    return text;
}

static unsigned char *marks_of(const tpl_run *r, const char *at)
{
    const piece *p = r->marks ? piece_of(r->marks, at) : NULL;
    return p ? (unsigned char *)at + p->room : NULL;
}

void tpl_marks_copy(const tpl_run *r, char *to, const char *from, size_t n)
{
    unsigned char *marks = marks_of(r, to);
    const unsigned char *own = marks ? marks_of(r, from) : NULL;
    if (own)
        memcpy(marks, own, n);
}

void tpl_mark(const tpl_run *r, const tpl_value *text, bool given)
{
    unsigned char *marks = text->s.n ? marks_of(r, text->s.at) : NULL;
    if (marks)
        memset(marks, given, text->s.n);
}

void tpl_mark_as(const tpl_run *r, const tpl_text *t, size_t from, const char *source, size_t n)
{
    const unsigned char *own = n ? marks_of(r, source) : NULL;
    unsigned char *marks = own && memchr(own, 1, n) && from < t->n ? marks_of(r, t->at) : NULL;
    if (marks)
        memset(marks + from, 1, t->n - from);
}

size_t tpl_marked(const tpl_run *r, const tpl_text *t, eng_lm_range *ranges)
{
    const unsigned char *marks = t->n ? marks_of(r, t->at) : NULL;
    size_t n = 0;
    for (size_t i = 0; marks && i < t->n; i++) {
        if (!marks[i])
            continue;
        const size_t from = i;
        while (i < t->n && marks[i])
            i++;
        if (ranges)
            ranges[n] = (eng_lm_range){from, i};
        n++;
    }
    return n;
}
