/*
 * What an ELF file says of itself, compared with its size.
 *
 * The loader maps what the program headers name and touches it; where the file
 * ends sooner, that is SIGBUS and the end of the host.  So a file that was cut
 * short, by a full disk or a copy that was interrupted, is found before.
 */
#include "config.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "registry.h"

/* Reads all of it; false: the file ends before. */
static bool read_at(int file, void *to, size_t bytes, uint64_t at)
{
    size_t done = 0;
    while (at <= INT64_MAX - bytes && done < bytes) {
        ssize_t n = pread(file, (char *)to + done, bytes - done, (off_t)(at + done));
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return done == bytes;
}

/* The furthest byte that is needed so far, and for what. */
typedef struct reach {
    uint64_t end;
    const char *what;
} reach;

static void stretch(reach *r, uint64_t at, uint64_t bytes, const char *what)
{
    uint64_t end = bytes > UINT64_MAX - at ? UINT64_MAX : at + bytes;
    if (bytes && end > r->end)
        *r = (reach){end, what};
}

/* One for each class: the structs have the same names of fields, and other sizes. */
#define DEFINE_MEASURE(bits)                                                                                     \
    static void measure_##bits(int file, reach *r)                                                               \
    {                                                                                                            \
        Elf##bits##_Ehdr head;                                                                                   \
        Elf##bits##_Phdr part;                                                                                   \
        Elf##bits##_Shdr section;                                                                                \
        stretch(r, 0, sizeof head, "its header");                                                                \
        if (!read_at(file, &head, sizeof head, 0))                                                               \
            return;                                                                                              \
        stretch(r, head.e_phoff, (uint64_t)head.e_phnum * head.e_phentsize, "its program headers");              \
        for (uint64_t i = 0; i < head.e_phnum; i++)                                                              \
            if (read_at(file, &part, sizeof part, head.e_phoff + i * head.e_phentsize))                          \
                stretch(r, part.p_offset, part.p_filesz, "a part that is to be loaded");                         \
        stretch(r, head.e_shoff, (uint64_t)head.e_shnum * head.e_shentsize, "its table of sections");            \
        for (uint64_t i = 0; i < head.e_shnum; i++)                                                              \
            if (read_at(file, &section, sizeof section, head.e_shoff + i * head.e_shentsize) &&                  \
                section.sh_type != SHT_NOBITS)                                                                   \
                stretch(r, section.sh_offset, section.sh_size, "a section");                                     \
    }
DEFINE_MEASURE(32)
DEFINE_MEASURE(64)

static unsigned char own_order(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first ? ELFDATA2LSB : ELFDATA2MSB;
}

bool eng_elf_check(int file, uint64_t size, char *reason, size_t bytes)
{
    unsigned char ident[EI_NIDENT];
    reach r = {0};
    if (!read_at(file, ident, sizeof ident, 0) || memcmp(ident, ELFMAG, SELFMAG) != 0) {
        eu_copy(reason, bytes, "not a shared library: its first bytes are not those of an ELF file");
        return false;
    }
    if (ident[EI_DATA] == own_order() && ident[EI_CLASS] == ELFCLASS64)
        measure_64(file, &r);
    else if (ident[EI_DATA] == own_order() && ident[EI_CLASS] == ELFCLASS32)
        measure_32(file, &r);
    /* else of another machine: the loader says so, and maps nothing */
    if (r.end <= size)
        return true;
    snprintf(reason, bytes, "the file was cut short: it has %" PRIu64 " bytes, but %s reaches to byte %" PRIu64, size,
             r.what, r.end);
    return false;
}
