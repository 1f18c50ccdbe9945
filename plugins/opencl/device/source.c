/* Kernel files, from the plugin itself or from the folder of option kernels, made whole: #include lines. */
#include "../host.h"

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

static int add_source(cl_device *device, const char *name, eu_text *out, unsigned depth);

/* Appends source text, replacing lines #include "x" by that file. */
static int add_text(cl_device *device, const char *p, const char *end, eu_text *out, unsigned depth)
{
    static const char word[] = "#include \"";
    while (p < end) {
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        line_end = line_end ? line_end + 1 : end;
        size_t n = (size_t)(line_end - p);
        if (n > sizeof word && !memcmp(p, word, sizeof word - 1)) {
            char name[64];
            const char *begin = p + sizeof word - 1, *quote = memchr(begin, '"', (size_t)(line_end - begin));
            if (!quote || (size_t)(quote - begin) >= sizeof name || depth > 12)
                return cl_fail(device, ENG_ERR_INTERNAL, "a kernel file has a bad #include line");
            memcpy(name, begin, (size_t)(quote - begin));
            name[quote - begin] = '\0';
            int status = add_source(device, name, out, depth + 1);
            if (status != ENG_OK)
                return status;
        } else if (eu_text_add_bytes(out, p, n), out->failed) {
            return cl_no_memory(device, "the text of a kernel");
        }
        p = line_end;
    }
    return ENG_OK;
}

static int add_source(cl_device *device, const char *name, eu_text *out, unsigned depth)
{
    const char *folder = device->sv->option(device->sv->host, "kernels");
    eu_text t = {0};
    int status;
    if (folder && *folder && read_file(folder, name, &t)) {
        status = add_text(device, t.at, t.at + t.n, out, depth);
    } else {
        const cl_source *s = embedded(name);
        status = s ? add_text(device, (const char *)s->text, (const char *)s->text + s->bytes, out, depth)
                   : cl_fail(device, ENG_ERR_INTERNAL, "kernel file %s is not part of the opencl plugin", name);
    }
    eu_text_free(&t);
    return status;
}

int cl_source_text(cl_device *device, const char *text, size_t bytes, eu_text *out)
{
    return add_text(device, text, text + bytes, out, 0);
}

int cl_source_add(cl_device *device, const char *name, eu_text *out)
{
    return add_source(device, name, out, 0);
}
