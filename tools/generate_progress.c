/* engine-generate: how far a long piece of work is, on a terminal; gone when it is done. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "libengine/util/util.h"
#include "generate.h"

int show_progress(void *user, double fraction)
{
    progress *p = user;
    double now = eu_seconds();
    if (!isatty(STDERR_FILENO) || (now - p->last < 0.2 && fraction < 1))
        return 0;
    p->last = now;
    if (fraction < 1)
        fprintf(stderr, "\r%s %.0f%%  ", p->what, 100 * fraction);
    else
        fprintf(stderr, "\r%*s\r", (int)strlen(p->what) + 8, "");
    fflush(stderr);
    return 0;
}
