/* The registry: search, pre-flight, judgement, options; each fixture is refused for its true reason. */
#include "config.h"

#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine.h"

static char fixtures[1024], second[1024], null_folder[1024];

static void setup(void)
{
    const char *build = getenv("top_builddir");
    ck_assert_msg(build != NULL, "run me through make check: top_builddir is not set");
    snprintf(fixtures, sizeof fixtures, "%s/tests/registry/fixtures/.libs", build);
    snprintf(second, sizeof second, "%s/tests/registry/second/.libs", build);
    snprintf(null_folder, sizeof null_folder, "%s/plugins/null/.libs", build);
    unsetenv("ENGINE_PLUGIN_PATH");
    unsetenv("ENGINE_PLUGINS");
}

static eng_context *create(const char *path, uint32_t flags)
{
    eng_context_params params = {.size = sizeof params, .plugin_path = path, .flags = flags};
    eng_context *context = NULL;
    ck_assert_int_eq(eng_context_create(&params, &context), ENG_OK);
    return context;
}

/* The record of that name whose path begins with `folder`. */
static eng_plugin_info record(eng_context *context, const char *folder, const char *name)
{
    eng_plugin_info info = {.size = sizeof info};
    for (uint32_t i = 0; eng_context_plugin(context, i, &info) == ENG_OK; i++)
        if (strcmp(info.name, name) == 0 && strncmp(info.path, folder, strlen(folder)) == 0)
            return info;
    ck_abort_msg("no record of %s in %s", name, folder);
    return info;
}

static const struct {
    const char *name, *stage, *reason;
} faults[] = {
    {"symbol", "symbol", "function_that_nobody_defines"},
    {"dependency", "dependency", "libgone"},
    {"nodescriptor", "descriptor", "nodescriptor_LTX_eng_plugin_descriptor"},
    {"magic", "descriptor", "0x0000002a"},
    {"abimajor", "abi", "built for plugin ABI"},
    {"older", "abi", "built for plugin ABI"},
    {"smalltable", "table", "table of plugin calls"},
    {"nocall", "table", "mandatory call open"},
    {"wrongname", "name", "calls itself 'cpu'"},
    {"openfails", "open", "the fixture never opens"},
    {"nodevice", "devices", "no such hardware"},
    {"nostate", "open", "its open succeeds, but gives no state"},
};

START_TEST(fault)
{
    eng_context *context = create(fixtures, 0);
    eng_plugin_info info = record(context, fixtures, faults[_i].name);
    ck_assert_int_eq(info.status, ENG_PLUGIN_REJECTED);
    ck_assert_str_eq(info.stage, faults[_i].stage);
    ck_assert_msg(strstr(info.reason, faults[_i].reason) != NULL, "%s: %s", info.name, info.reason);
    ck_assert(*info.advice);
    ck_assert_ptr_null(strchr(info.reason, '\n'));
    /* who asks for it is told the reason */
    eng_device *device = NULL;
    ck_assert_int_lt(eng_device_open(context, faults[_i].name, &device), 0);
    ck_assert_ptr_null(device);
    ck_assert_msg(strstr(eng_last_error(), faults[_i].reason) != NULL, "%s", eng_last_error());
    /* and the host lives: the good one works */
    ck_assert_int_eq(eng_device_open(context, "good", &device), ENG_OK);
    eng_device_close(device);
    ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
}
END_TEST

/* Neither another major is taken, and each is told its own cure. */
START_TEST(another_abi)
{
    static const struct {
        const char *name;
        unsigned major, minor;
        const char *advice;
    } others[] = {
        {"older", ENG_PLUGIN_ABI_MAJOR - 1, ENG_PLUGIN_ABI_MINOR, "rebuild the plugin"},
        {"abimajor", ENG_PLUGIN_ABI_MAJOR + 1, 0, "install a newer libengine"},
    };
    eng_context *context = create(fixtures, 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char reason[128];
        snprintf(reason, sizeof reason, "built for plugin ABI %u.%u, but this engine speaks %u.%u", others[i].major,
                 others[i].minor, ENG_PLUGIN_ABI_MAJOR, ENG_PLUGIN_ABI_MINOR);
        eng_plugin_info info = record(context, fixtures, others[i].name);
        ck_assert_int_eq(info.status, ENG_PLUGIN_REJECTED);
        ck_assert_msg(strstr(info.reason, reason) != NULL, "%s: %s", info.name, info.reason);
        ck_assert_msg(strncmp(info.advice, others[i].advice, strlen(others[i].advice)) == 0, "%s: %s", info.name,
                      info.advice);
    }
    ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
}
END_TEST

/* A plugin's answers that no call has are its fault; a failure without a word is not explained by an older one. */
START_TEST(rude)
{
    eng_context *context = create(fixtures, 0);
    eng_device *device = NULL;
    eng_queue *queue;
    eng_device_stats stats = {.size = sizeof stats};
    eng_fail(ENG_ERR_IO, "of long ago");
    ck_assert_int_eq(eng_device_open(context, "rude:0", &device), ENG_ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "rude:0: its plugin's device_open gave the status 5"));
    eng_fail(ENG_ERR_IO, "of long ago");
    ck_assert_int_eq(eng_device_open(context, "rude:1", &device), ENG_ERR_TIMEOUT);
    ck_assert_str_eq(eng_last_error(), "rude:1: its plugin's device_open failed without a word: timed out");
    ck_assert_int_eq(eng_device_open(context, "rude:2", &device), ENG_ERR_INTERNAL);
    ck_assert_ptr_null(device);
    ck_assert_int_eq(eng_device_open(context, "rude:3", &device), ENG_OK);
    ck_assert_int_eq(eng_device_get_stats(device, &stats), ENG_ERR_INTERNAL);
    ck_assert_int_eq(eng_queue_create(device, &queue), ENG_ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "queue_create gave the status 11"));
    eng_device_close(device);
    ck_assert_int_eq(eng_device_open(context, "rude:4", &device), ENG_OK);
    eng_device_info info[2] = {{.size = sizeof *info}, {.size = sizeof *info}};
    ck_assert_int_eq(eng_device_get_info(device, &info[0]), ENG_OK);
    for (uint32_t i = 0; eng_context_device_info(context, i, &info[1]) == ENG_OK && strcmp(info[1].name, "rude:4") != 0;)
        i++;
    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(info[i].name, "rude:4");
        ck_assert_uint_eq(strnlen(info[i].description, sizeof info->description), sizeof info->description - 1);
        ck_assert_uint_eq(strnlen(info[i].capabilities, sizeof info->capabilities), sizeof info->capabilities - 1);
    }
    eng_fail(ENG_ERR_IO, "of long ago");
    ck_assert_int_eq(eng_queue_create(device, &queue), ENG_ERR_TIMEOUT);
    ck_assert_ptr_null(strstr(eng_last_error(), "of long ago"));
    eng_device_close(device);
    ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
}
END_TEST

START_TEST(files)
{
    char folder[] = "/tmp/libengine-test-XXXXXX", path[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/text.so", folder);
    FILE *f = fopen(path, "w");
    fputs("this is not a library\n", f);
    fclose(f);
    snprintf(path, sizeof path, "%s/empty.so", folder);
    fclose(fopen(path, "w"));
    snprintf(path, sizeof path, "%s/cut.so", folder);
    f = fopen(path, "w");
    fputs("\177ELF", f);
    fclose(f);
    snprintf(path, sizeof path, "%s/folder.so", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/dangling.so", folder);
    ck_assert_int_eq(symlink("/nowhere/at/all.so", path), 0);
    snprintf(path, sizeof path, "%s/pipe.so", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* who opens it and waits for a writer waits for ever */

    eng_context *context = create(folder, 0);
    ck_assert_ptr_nonnull(strstr(record(context, folder, "pipe").reason, "not a regular file"));
    ck_assert_ptr_nonnull(strstr(record(context, folder, "text").reason, "not a shared library"));
    ck_assert_ptr_nonnull(strstr(record(context, folder, "empty").reason, "not a shared library"));
    ck_assert_str_eq(record(context, folder, "cut").stage, "file");
    ck_assert_ptr_nonnull(strstr(record(context, folder, "folder").reason, "not a regular file"));
    ck_assert_ptr_nonnull(strstr(record(context, folder, "dangling").reason, "cannot be opened"));
    eng_context_destroy(context);
    const char *const names[] = {"text", "empty", "cut", "dangling", "pipe"};
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s.so", folder, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/folder.so", folder);
    rmdir(path);
    rmdir(folder);
}
END_TEST

static void write_file(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

static void remove_files(const char *folder, const char *const *names, size_t n)
{
    char path[256];
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s.so", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* A file that was cut short, wherever: the loader would touch pages that are not there, and the host die of SIGBUS. */
START_TEST(cut_short)
{
    enum { CUTS = 40 };
    static char bytes[1 << 20], store[CUTS][8];
    const char *names[CUTS];
    char folder[] = "/tmp/libengine-test-XXXXXX", path[1100];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/good.so", fixtures);
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    ck_assert_uint_gt(n, 4096);
    for (size_t i = 0; i < CUTS; i++) {
        snprintf(store[i], sizeof store[i], "cut%zu", i);
        names[i] = store[i];
        write_file(folder, names[i], bytes, i == 0 ? n - 1 : n * i / CUTS);
    }
    eng_context *context = create(folder, 0);
    for (size_t i = 0; i < CUTS; i++) {
        eng_plugin_info info = record(context, folder, names[i]);
        ck_assert_int_eq(info.status, ENG_PLUGIN_REJECTED);
        ck_assert_str_eq(info.stage, "file");
        ck_assert_msg(strstr(info.reason, "the file was cut short: it has ") != NULL, "%s: %s", info.name, info.reason);
        ck_assert(*info.advice);
    }
    eng_context_destroy(context);
    remove_files(folder, names, CUTS);
}
END_TEST

/* The other class has a header of its own; what cannot be loaded here is refused without being mapped. */
START_TEST(cut_short_32)
{
    static const char *const names[] = {"header", "part", "section", "whole"};
    char folder[] = "/tmp/libengine-test-XXXXXX";
    struct {
        Elf32_Ehdr head;
        Elf32_Phdr part;
        Elf32_Shdr section;
    } file = {.head = {.e_type = ET_DYN, .e_machine = EM_386, .e_version = EV_CURRENT, .e_ehsize = sizeof file.head,
                       .e_phnum = 1, .e_phentsize = sizeof file.part, .e_phoff = sizeof file.head, .e_shnum = 1,
                       .e_shentsize = sizeof file.section, .e_shoff = sizeof file.head + sizeof file.part},
              .part = {.p_type = PT_LOAD, .p_filesz = sizeof file},
              .section = {.sh_type = SHT_PROGBITS, .sh_size = sizeof file}};
    const uint16_t one = 1;
    memcpy(file.head.e_ident, ELFMAG, SELFMAG);
    file.head.e_ident[EI_CLASS] = ELFCLASS32;
    file.head.e_ident[EI_DATA] = *(const char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    file.head.e_ident[EI_VERSION] = EV_CURRENT;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    write_file(folder, "whole", &file, sizeof file);
    write_file(folder, "header", &file, sizeof file.head - 1);
    file.part.p_offset = 1;
    write_file(folder, "part", &file, sizeof file);
    file.part.p_offset = 0, file.section.sh_offset = UINT32_MAX;
    write_file(folder, "section", &file, sizeof file);
    eng_context *context = create(folder, 0);
    ck_assert_ptr_nonnull(strstr(record(context, folder, "header").reason, "its header reaches to byte 52"));
    ck_assert_ptr_nonnull(strstr(record(context, folder, "part").reason, "a part that is to be loaded reaches"));
    ck_assert_ptr_nonnull(strstr(record(context, folder, "section").reason, "a section reaches"));
    ck_assert_str_eq(record(context, folder, "whole").stage, "file");
    ck_assert_ptr_null(strstr(record(context, folder, "whole").reason, "cut short"));
    eng_context_destroy(context);
    remove_files(folder, names, 4);
}
END_TEST

START_TEST(clash)
{
    char path[4096];
    eng_device *device;
    snprintf(path, sizeof path, "%s:%s:%s", second, fixtures, second);
    eng_context *context = create(path, 0);
    ck_assert_int_eq(record(context, second, "good").status, ENG_PLUGIN_LOADED);
    eng_plugin_info shadowed = record(context, fixtures, "good");
    ck_assert_int_eq(shadowed.status, ENG_PLUGIN_SHADOWED);
    ck_assert_ptr_nonnull(strstr(shadowed.reason, second));
    uint32_t n = 0;
    eng_plugin_info info = {.size = sizeof info};
    for (uint32_t i = 0; eng_context_plugin(context, i, &info) == ENG_OK; i++)
        n += strcmp(info.name, "good") == 0;
    ck_assert_uint_eq(n, 2); /* a folder named twice counts once */
    ck_assert_int_eq(eng_device_open(context, "good:0", &device), ENG_OK);
    eng_device_close(device);
    eng_context_destroy(context);
}
END_TEST

START_TEST(newer_minor)
{
    eng_context *context = create(fixtures, 0);
    eng_plugin_info info = record(context, fixtures, "newer");
    ck_assert_int_eq(info.status, ENG_PLUGIN_LOADED);
    ck_assert_uint_eq(info.n_devices, 1);
    ck_assert_int_eq(eng_context_set_option(context, "newer.second", "x"), ENG_OK);
    eng_device *device;
    eng_store *store;
    ck_assert_int_eq(eng_device_open(context, "newer", &device), ENG_OK);
    /* what it lacks is a stub */
    ck_assert_int_eq(eng_store_create(device, NULL, 0, &store), ENG_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "store_create"));
    eng_device_close(device);
    eng_context_destroy(context);
}
END_TEST

START_TEST(relative_folder)
{
    eng_context *context = create("plugins/null/.libs:.", 0);
    eng_plugin_info info = record(context, "plugins", "plugins/null/.libs");
    ck_assert_int_eq(info.status, ENG_PLUGIN_REJECTED);
    ck_assert_ptr_nonnull(strstr(info.reason, "relative"));
    info = record(context, ".", ".");
    ck_assert_int_eq(info.status, ENG_PLUGIN_REJECTED);
    eng_device *device; /* who opens a device is told, too */
    ck_assert_int_eq(eng_device_open(context, "nosuch", &device), ENG_ERR_NOTFOUND);
    ck_assert_msg(strstr(eng_last_error(), "is a relative folder; write the whole path"), "%s", eng_last_error());
    eng_context_destroy(context);
}
END_TEST

START_TEST(filter)
{
    static const struct {
        const char *value;
        int good, newer;
    } cases[] = {
        {"good", ENG_PLUGIN_LOADED, ENG_PLUGIN_DISABLED},
        {"^good", ENG_PLUGIN_DISABLED, ENG_PLUGIN_LOADED},
        {"all", ENG_PLUGIN_LOADED, ENG_PLUGIN_LOADED},
        {"all,^new*", ENG_PLUGIN_LOADED, ENG_PLUGIN_DISABLED},
        {"go?d, newer", ENG_PLUGIN_LOADED, ENG_PLUGIN_LOADED},
        {"none", ENG_PLUGIN_DISABLED, ENG_PLUGIN_DISABLED},
        {"", ENG_PLUGIN_LOADED, ENG_PLUGIN_LOADED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("ENGINE_PLUGINS", cases[i].value, 1);
        eng_context *context = create(fixtures, 0);
        ck_assert_int_eq(record(context, fixtures, "good").status, cases[i].good);
        ck_assert_int_eq(record(context, fixtures, "newer").status, cases[i].newer);
        eng_device *device;
        if (cases[i].good == ENG_PLUGIN_DISABLED) {
            ck_assert_int_eq(eng_device_open(context, "good", &device), ENG_ERR_NOTFOUND);
            ck_assert_ptr_nonnull(strstr(eng_last_error(), "ENGINE_PLUGINS"));
            char reason[80];
            snprintf(reason, sizeof reason, "switched off by ENGINE_PLUGINS=%s", cases[i].value);
            ck_assert_str_eq(record(context, fixtures, "good").reason, reason);
        }
        eng_context_destroy(context);
        /* a host may ignore the environment */
        context = create(fixtures, ENG_CONTEXT_NO_ENVIRONMENT);
        ck_assert_int_eq(record(context, fixtures, "good").status, ENG_PLUGIN_LOADED);
        eng_context_destroy(context);
    }
}
END_TEST

START_TEST(no_load)
{
    eng_context *context = create(fixtures, ENG_CONTEXT_NO_LOAD);
    ck_assert_int_eq(record(context, fixtures, "good").status, ENG_PLUGIN_FOUND);
    ck_assert_int_eq(record(context, fixtures, "openfails").status, ENG_PLUGIN_FOUND);
    eng_device *device;
    ck_assert_int_lt(eng_device_open(context, "good", &device), 0);
    eng_context_destroy(context);
}
END_TEST

START_TEST(environment_path)
{
    setenv("ENGINE_PLUGIN_PATH", fixtures, 1);
    eng_context *context = create(NULL, 0);
    ck_assert_int_eq(record(context, fixtures, "good").status, ENG_PLUGIN_LOADED);
    eng_context_destroy(context);
}
END_TEST

static eng_option_info option(eng_context *context, const char *name)
{
    eng_option_info info = {.size = sizeof info};
    for (uint32_t i = 0; eng_context_option(context, i, &info) == ENG_OK; i++)
        if (strcmp(info.name, name) == 0)
            return info;
    ck_abort_msg("no option %s", name);
    return info;
}

START_TEST(options)
{
    setenv("ENGINE_NULL_DEVICES", "3", 1);
    eng_context *context = create(null_folder, 0);
    eng_option_info o = option(context, "null.devices");
    ck_assert_str_eq(o.value, "3");
    ck_assert_str_eq(o.source, "environment");
    ck_assert_str_eq(o.environment, "ENGINE_NULL_DEVICES");
    ck_assert_str_eq(o.default_value, "1");
    ck_assert(*o.help);
    ck_assert_uint_eq(record(context, null_folder, "null").n_devices, 3);
    o = option(context, "null.memory");
    ck_assert_str_eq(o.source, "default");
    ck_assert_int_eq(eng_context_set_option(context, "null.memory", "4096"), ENG_OK);
    o = option(context, "null.memory");
    ck_assert_str_eq(o.value, "4096");
    ck_assert_str_eq(o.source, "host");
    ck_assert_int_eq(eng_context_set_option(context, "null.nothing", "1"), ENG_ERR_NOTFOUND);
    ck_assert_ptr_null(strstr(eng_last_error(), "did you mean"));
    ck_assert_int_eq(eng_context_set_option(context, "null.memmory", "1"), ENG_ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "did you mean 'null.memory'?"));
    ck_assert_int_eq(eng_context_set_option(context, "engine.plugins", "x"), ENG_ERR_STATE);
    /* sorted */
    eng_option_info a = {.size = sizeof a}, b = a;
    eng_context_option(context, 0, &a);
    for (uint32_t i = 1; eng_context_option(context, i, &b) == ENG_OK; i++, a = b)
        ck_assert_int_lt(strcmp(a.name, b.name), 0);
    eng_context_destroy(context);
    setenv("ENGINE_NULL_DEVICES", "many", 1);
    context = create(null_folder, 0);
    eng_plugin_info info = record(context, null_folder, "null");
    ck_assert_int_eq(info.status, ENG_PLUGIN_REJECTED);
    ck_assert_ptr_nonnull(strstr(info.reason, "'many'"));
    eng_context_destroy(context);
    unsetenv("ENGINE_NULL_DEVICES");
}
END_TEST

START_TEST(device_names)
{
    static const struct {
        const char *name;
        int status;
        const char *text;
    } cases[] = {
        {"null:7", ENG_ERR_NOTFOUND, "has 1 device"},
        {"nulls", ENG_ERR_NOTFOUND, "there is no plugin 'nulls'; there are: null"},
        {"null/0", ENG_ERR_INVALID, "0 parts"},
        {"null/2", ENG_ERR_NOTFOUND, "no plugin that composes"},
        {"null/2@1", ENG_ERR_INVALID, "1 share for 2 devices"},
        {"null+other", ENG_ERR_NOTFOUND, "there is no plugin 'other'"},
        {"", ENG_ERR_INVALID, "empty"},
    };
    eng_context *context = create(null_folder, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eng_device *device = NULL;
        ck_assert_int_eq(eng_device_open(context, cases[i].name, &device), cases[i].status);
        ck_assert_ptr_null(device);
        ck_assert_msg(strstr(eng_last_error(), cases[i].text) != NULL, "%s: %s", cases[i].name, eng_last_error());
    }
    /* on request only: not in the list, but opened by name */
    eng_device_info info = {.size = sizeof info};
    ck_assert_int_eq(eng_context_device_info(context, 0, &info), ENG_ERR_NOTFOUND);
    eng_device *device;
    ck_assert_int_eq(eng_device_open(context, "null/2.1", &device), ENG_OK);
    ck_assert_int_eq(eng_device_get_info(device, &info), ENG_OK);
    ck_assert_str_eq(info.name, "null/2.1");
    ck_assert_int_eq(eng_context_destroy(context), ENG_ERR_BUSY);
    eng_device_close(device);
    ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
}
END_TEST

static void count_lines(void *user, int level, const char *source, const char *text)
{
    ck_assert_ptr_null(strchr(text, '\n'));
    ck_assert_int_le(level, ENG_LOG_WARN);
    ++*(int *)user;
}

START_TEST(log_lines)
{
    int lines = 0;
    eng_context_params params = {.size = sizeof params, .plugin_path = fixtures, .log = count_lines, .log_user = &lines,
                                 .log_level = ENG_LOG_WARN};
    eng_context *context;
    ck_assert_int_eq(eng_context_create(&params, &context), ENG_OK);
    ck_assert_int_ge(lines, (int)(sizeof faults / sizeof *faults));
    eng_context_destroy(context);
}
END_TEST

START_TEST(bad_calls)
{
    eng_context *context = NULL;
    eng_context_params params = {0};
    ck_assert_int_eq(eng_context_create(&params, &context), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_context_create(NULL, NULL), ENG_ERR_INVALID);
    ck_assert_ptr_null(context);
    ck_assert_int_eq(eng_context_destroy(NULL), ENG_OK);
    ck_assert_int_eq(eng_context_create(NULL, &context), ENG_OK);
    eng_option_info info = {0};
    ck_assert_int_eq(eng_context_option(context, 0, &info), ENG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "sizeof(eng_option_info)"));
    eng_context_destroy(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry");
    TCase *t = tcase_create("registry");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_loop_test(t, fault, 0, sizeof faults / sizeof *faults);
    tcase_add_test(t, another_abi);
    tcase_add_test(t, rude);
    tcase_add_test(t, files);
    tcase_add_test(t, cut_short);
    tcase_add_test(t, cut_short_32);
    tcase_add_test(t, clash);
    tcase_add_test(t, newer_minor);
    tcase_add_test(t, relative_folder);
    tcase_add_test(t, filter);
    tcase_add_test(t, no_load);
    tcase_add_test(t, environment_path);
    tcase_add_test(t, options);
    tcase_add_test(t, device_names);
    tcase_add_test(t, log_lines);
    tcase_add_test(t, bad_calls);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
