/*
 * Floor 1: plugins as files - searched for, pre-flighted, loaded, judged.
 *
 * Everything that looks like a plugin becomes a record, and a record keeps the
 * true reason why it is not used.  Records stay in order of search.
 */
#ifndef LIBENGINE_REGISTRY_H
#define LIBENGINE_REGISTRY_H

#include "../base/base.h"

typedef struct eng_plugin_record {
    const char *name; /* the file's name without its suffix */
    const char *path;
    eng_plugin_status status;
    const char *stage, *reason, *advice; /* "" unless refused */
    const char *version, *description;
    const eng_plugin_descriptor *descriptor; /* once judged and accepted */
    const char *folder; /* real path, to see a folder twice only once */
} eng_plugin_record;

typedef struct eng_registry {
    const eng_base *base;
    eu_arena memory; /* of all texts */
    eng_plugin_record *records;
    size_t room;
    uint32_t n;
} eng_registry;

void eng_registry_init(eng_registry *registry, const eng_base *base);
void eng_registry_free(eng_registry *registry);

/* -- search.c */
/* Looks into the ':'-separated folders of `path` (may be NULL). */
int eng_registry_search(eng_registry *registry, const char *path, const char *origin);
/* Looks into the folder beside this library and the install directory. */
int eng_registry_search_default(eng_registry *registry);

/* -- registry.c */
eng_plugin_record *eng_registry_add(eng_registry *registry, const char *name, const char *path);
/* Marks the records that `filter` (ENGINE_PLUGINS: "cpu,meta" or "^opencl"; may be NULL) switches off. */
int eng_registry_select(eng_registry *registry, const char *filter);
/* For a list of what was found without loading: a name counts once. */
void eng_registry_shadow(eng_registry *registry);
/* Loads and judges a record that is still ENG_PLUGIN_FOUND, unless a plugin of its name is loaded already.  What
 * becomes of it is written into the record. */
void eng_registry_load(eng_registry *registry, eng_plugin_record *record);
/* Notes why a plugin is not used.  Texts are copied. */
void eng_registry_reject(eng_registry *registry, eng_plugin_record *record, const char *stage, const char *reason,
                         const char *advice);

/* -- elf.c */
/* Is it an ELF file that is as long as it says?  False: why not. */
bool eng_elf_check(int file, uint64_t size, char *reason, size_t bytes);

/* -- module.c: all that knows libltdl */
typedef struct eng_module_error {
    const char *stage;
    char reason[1024];
    const char *advice;
} eng_module_error;
/* The descriptor of the module at an absolute path, or NULL and why.  The module
 * stays in memory for good. */
const eng_plugin_descriptor *eng_module_load(const char *path, const char *name, eng_module_error *error);

/* -- judge.c */
/* Is the descriptor fit to be called?  False: why. */
bool eng_judge(const eng_plugin_descriptor *descriptor, const char *name, eng_module_error *error);

#endif
