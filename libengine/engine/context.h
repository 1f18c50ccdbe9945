/* Floor 5: the context - plugins, options, services, and the devices they open. */
#ifndef LIBENGINE_CONTEXT_H
#define LIBENGINE_CONTEXT_H

#include "../base/base.h"
#include "../registry/registry.h"

/* An option of the engine or of a plugin.  Texts live as long as the context. */
typedef struct eng_option {
    const char *name, *environment, *default_value, *help;
    const char *from_environment, *from_host; /* NULL: not set there */
} eng_option;

typedef struct eng_options {
    pthread_mutex_t lock;
    eu_arena memory;
    eng_option *list; /* sorted by name */
    size_t room;
    uint32_t n;
    bool use_environment;
} eng_options;

/* A plugin in use: what plugins know as their host. */
struct eng_host {
    eng_context *context;
    eng_plugin_record *record;
    const char *name;
    uint32_t flags; /* ENG_PLUGIN_* */
    eng_services services;
    eng_plugin_calls calls;
    eng_device_calls device_calls; /* completed */
    eng_plugin_state *state;
    eng_device_info *devices;
    size_t device_room;
    uint32_t n_devices;
    pthread_mutex_t lock;
    char *cache_dir; /* made when first asked for */
};

struct eng_context {
    eng_base base; /* first: eng_base_of */
    eng_options options;
    eng_registry registry;
    eng_host **hosts; /* the plugins in use, sorted by name */
    size_t host_room;
    uint32_t n_hosts;
};

/* -- options.c */
void eng_options_init(eng_options *options, bool use_environment);
void eng_options_free(eng_options *options);
/* The engine's own. */
int eng_options_declare_engine(eng_options *options);
/* A plugin's: NAME.option, ENGINE_NAME_OPTION. */
int eng_options_declare_plugin(eng_options *options, const eng_plugin_descriptor *descriptor);
/* NULL if nobody declared it. */
const char *eng_options_value(eng_options *options, const char *name);

/* -- plugins.c */
/* Opens the plugin of a loaded record and asks for its devices; a failure makes the record a rejected one. */
int eng_plugin_use(eng_context *context, eng_plugin_record *record);
void eng_plugin_end(eng_host *host);

/* -- open.c */
/* Says that there is no device of that number, and if ENGINE_PLUGINS is why, so. */
int eng_no_device(const eng_context *context, uint32_t index);

/* -- services.c */
void eng_services_fill(eng_services *services, eng_host *host);

/* -- folders.c */
/* The folder, created, where the plugin may keep things; NULL: none. */
const char *eng_cache_dir(eng_host *host);
const char *eng_data_dir(eng_context *context);

#endif
