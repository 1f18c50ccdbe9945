/*
 * Kernel files, from the plugin itself or from the folder of option kernels, made whole: #include lines.
 *
 * A file that is guarded against being read twice (#ifndef first, then #define) is put in once, for a compiler that skips
 * it twenty times reads it twenty times: products of blocks were 3 MB of text and are 0.1.  Once in a branch of #if: another
 * branch, or what comes after, may be read where the first is not.
 */
#include "../host.h"

enum { MOST_BRANCHES = 32, MOST_FILES = 96 };

typedef struct branch {
    uint32_t id;
    bool guard; /* a file's own: whoever includes it first goes in */
} branch;

typedef struct included {
    char name[64];
    uint32_t in[MOST_BRANCHES]; /* the branches that are open around it */
    uint32_t n;
} included;

typedef struct whole {
    cl_device *device;
    eu_text *out;
    branch open[MOST_BRANCHES];
    uint32_t n_open, next_id, n_files;
    included files[MOST_FILES];
} whole;

/* A file of the folder given by option kernels. */
static bool read_file(const char *folder, const char *name, eu_text *t)
{
    char path[1024], chunk[4096];
    size_t n;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    while (!t->failed && (n = fread(chunk, 1, sizeof chunk, f)) > 0)
        eu_text_add_bytes(t, chunk, n);
    bool good = !t->failed && !ferror(f) && t->at;
    fclose(f);
    return good;
}

static const cl_source *embedded(const char *name)
{
    for (const cl_source *s = cl_sources; s->name; s++)
        if (!strcmp(s->name, name))
            return s;
    return NULL;
}

/* -- branches ----------------------------------------------------------------------- */

/* The word after # of a line that is a directive; NULL: it is none. */
static const char *directive(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p == end || *p++ != '#')
        return NULL;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static bool begins(const char *p, const char *end, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(end - p) >= n && !memcmp(p, word, n);
}

/* The branches that are open behind the line; false: too many, or none to close. */
static bool follow(whole *w, const char *line, const char *end, bool guard)
{
    const char *word = directive(line, end);
    if (!word)
        return true;
    if (begins(word, end, "if")) { /* ifdef, ifndef */
        if (w->n_open == MOST_BRANCHES)
            return false;
        w->open[w->n_open++] = (branch){++w->next_id, guard};
    } else if (begins(word, end, "el") && w->n_open) { /* else, elif */
        w->open[w->n_open - 1] = (branch){++w->next_id, false};
    } else if (begins(word, end, "endif")) {
        if (w->n_open-- == 0)
            return false;
    }
    return true;
}

static const char *next_line(const char *p, const char *end)
{
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    return stop ? stop + 1 : end;
}

/* The line #ifndef X of a file that begins with it and #define X; NULL: it does not. */
static const char *guard_of(const char *p, const char *end)
{
    bool comment = false;
    for (const char *next; p < end; p = next) {
        next = next_line(p, end);
        const size_t n = (size_t)(next - p);
        if (comment || begins(p, end, "/*")) {
            comment = !memmem(p, n, "*/", 2);
            continue;
        }
        if (n <= 1)
            continue;
        static const char is_new[] = "#ifndef ", is_made[] = "#define ";
        const size_t name = sizeof is_new - 1, bytes = n - name;
        return n > name && begins(p, end, is_new) && begins(next, end, is_made) && (size_t)(end - next) >= n &&
                       !memcmp(p + name, next + name, bytes)
                   ? p
                   : NULL;
    }
    return NULL;
}

/* Is the file there already, in all branches that are open here?  If not, it is now. */
static bool is_there(whole *w, const char *name)
{
    included here = {.n = 0};
    for (uint32_t i = 0; i < w->n_open; i++)
        if (!w->open[i].guard)
            here.in[here.n++] = w->open[i].id;
    for (uint32_t i = 0; i < w->n_files; i++) {
        const included *f = &w->files[i];
        if (!strcmp(f->name, name) && f->n <= here.n && !memcmp(f->in, here.in, f->n * sizeof *f->in))
            return true;
    }
    if (w->n_files < MOST_FILES) {
        snprintf(here.name, sizeof here.name, "%s", name);
        w->files[w->n_files++] = here;
    }
    return false;
}

/* -- text ----------------------------------------------------------------------------- */

static int add_source(whole *w, const char *name, unsigned depth);

static int include(whole *w, const char *begin, const char *line_end, unsigned depth)
{
    char name[64];
    const char *quote = memchr(begin, '"', (size_t)(line_end - begin));
    if (!quote || (size_t)(quote - begin) >= sizeof name || depth > 12)
        return cl_fail(w->device, ENG_ERR_INTERNAL, "a kernel file has a bad #include line");
    memcpy(name, begin, (size_t)(quote - begin));
    name[quote - begin] = '\0';
    return add_source(w, name, depth + 1);
}

/* Appends source text, replacing lines #include "x" by that file.  guard: the line of a file's own, or NULL. */
static int add_text(whole *w, const char *p, const char *end, const char *guard, unsigned depth)
{
    static const char word[] = "#include \"";
    for (const char *next; p < end; p = next) {
        next = next_line(p, end);
        if (begins(p, next, word)) {
            int status = include(w, p + sizeof word - 1, next, depth);
            if (status != ENG_OK)
                return status;
            continue;
        }
        if (!follow(w, p, next, p == guard))
            return cl_fail(w->device, ENG_ERR_INTERNAL, "a kernel file has too many #if lines, or too few");
        eu_text_add_bytes(w->out, p, (size_t)(next - p));
        if (w->out->failed)
            return cl_no_memory(w->device, "the text of a kernel");
    }
    return ENG_OK;
}

static int add_source(whole *w, const char *name, unsigned depth)
{
    const char *folder = w->device->sv->option(w->device->sv->host, "kernels");
    eu_text t = {0};
    const char *text = NULL;
    size_t bytes = 0;
    if (folder && *folder && read_file(folder, name, &t)) {
        text = t.at;
        bytes = t.n;
    } else {
        const cl_source *s = embedded(name);
        text = s ? (const char *)s->text : NULL;
        bytes = s ? s->bytes : 0;
    }
    const char *guard = text ? guard_of(text, text + bytes) : NULL;
    int status = !text ? cl_fail(w->device, ENG_ERR_INTERNAL, "kernel file %s is not part of the opencl plugin", name)
                 : guard && is_there(w, name) ? ENG_OK
                                              : add_text(w, text, text + bytes, guard, depth);
    eu_text_free(&t);
    return status;
}

int cl_source_whole(cl_device *device, const char *prelude, const char *name, eu_text *out)
{
    whole *w = calloc(1, sizeof *w);
    if (!w)
        return cl_no_memory(device, "the text of a kernel");
    w->device = device;
    w->out = out;
    int status = add_text(w, prelude, prelude + strlen(prelude), NULL, 0);
    if (status == ENG_OK)
        status = add_source(w, name, 0);
    free(w);
    return status;
}
