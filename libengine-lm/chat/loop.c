/* The variable `loop` of loops. */
#include "config.h"

#include "loop.h"

enum { INDEX, INDEX0, REVINDEX, REVINDEX0, FIRST, LAST, LENGTH, DEPTH, DEPTH0, PREVITEM, NEXTITEM, FIELDS };

static tpl_value neighbour(const tpl_loop *l, size_t index, const char *name, size_t n)
{
    return index < l->items.n ? l->items.at[index] : tpl_undefined(name, n, NULL);
}

bool tpl_loop_field(const tpl_loop *l, const char *name, size_t n, tpl_value *result)
{
    static const char *const names[FIELDS] = {"index",  "index0", "revindex", "revindex0", "first",   "last",
                                              "length", "depth",  "depth0",   "previtem",  "nextitem"};
    const int64_t index = (int64_t)l->index, length = (int64_t)l->items.n;
    int field = 0;
    while (field < FIELDS && !tpl_same(name, n, names[field]))
        field++;
    switch (field) {
    case INDEX: *result = tpl_int(index + 1); return true;
    case INDEX0: *result = tpl_int(index); return true;
    case REVINDEX: *result = tpl_int(length - index); return true;
    case REVINDEX0: *result = tpl_int(length - index - 1); return true;
    case FIRST: *result = tpl_bool(index == 0); return true;
    case LAST: *result = tpl_bool(index + 1 == length); return true;
    case LENGTH: *result = tpl_int(length); return true;
    case DEPTH: *result = tpl_int(l->depth); return true;
    case DEPTH0: *result = tpl_int((int64_t)l->depth - 1); return true;
    case PREVITEM: *result = neighbour(l, l->index - 1, name, n); return true;
    case NEXTITEM: *result = neighbour(l, l->index + 1, name, n); return true;
    default: return false;
    }
}
