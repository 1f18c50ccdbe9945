/* What the planner says: its first failure, and notes for the report. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "planner.h"

int meta_planner_nomem(meta_planner *p)
{
    if (p->status == ENG_OK)
        p->status = meta_no_memory(p->device, "a plan");
    return p->status;
}

void meta_planner_note(meta_planner *p, char *text)
{
    if (text && eu_reserve(p->notes, p->cap_notes, (size_t)p->n_notes + 1))
        p->notes[p->n_notes++] = text;
}
