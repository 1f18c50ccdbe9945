/*
 * Loading one module.  The only file that knows libltdl.
 *
 * libltdl says "file not found" whatever went wrong, and binds lazily, so that
 * a plugin that calls a function which nobody defines loads well and ends the
 * process later.  Its loader list and search path belong to the whole process
 * and so are not ours to change.  Therefore a pre-flight: the file is opened
 * with dlopen, all symbols bound at once, and dlerror has the true reason; only
 * then libltdl opens the same absolute path (local, resident), and the first
 * handle is given back.
 *
 * libltdl has no locks of its own; one mutex serialises ours.  A host that uses
 * libltdl too should not do so while a context is being created.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ltdl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "registry.h"

static pthread_mutex_t ltdl_lock = PTHREAD_MUTEX_INITIALIZER;
static bool ltdl_ready; /* under the lock; modules are resident, so it stays so */

static bool refuse(eng_module_error *error, const char *stage, const char *reason, const char *advice)
{
    error->stage = stage;
    eu_copy(error->reason, sizeof error->reason, reason);
    error->advice = advice;
    return false;
}

/* What can be said about the file without the loader. */
static bool check_file(const char *path, eng_module_error *error)
{
    struct stat info;
    char text[160];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &info) != 0) {
        snprintf(text, sizeof text, "cannot be opened: %s", strerror(errno));
        if (file >= 0)
            close(file);
        return refuse(error, "file", text, "check that the file exists and may be read");
    }
    bool regular = S_ISREG(info.st_mode);
    bool whole = regular && eng_elf_check(file, (uint64_t)info.st_size, text, sizeof text);
    close(file);
    if (!regular)
        return refuse(error, "file", "not a regular file", "remove it from the plugin folder");
    return whole || refuse(error, "file", text,
                           "rebuild or reinstall the plugin, or remove the file from the plugin folder");
}

/* Sorts the loader's own words into a stage. */
static void explain_dlerror(const char *path, const char *text, eng_module_error *error)
{
    size_t n = strlen(path);
    bool about_itself = strncmp(text, path, n) == 0;
    if (about_itself && strstr(text + n, "undefined symbol"))
        refuse(error, "symbol", text, "the plugin calls a function that no library it names defines: relink it with "
               "-no-undefined and the missing library; a plugin may not use symbols of libengine");
    else if (!about_itself)
        refuse(error, "dependency", text, "install the library that the text names, or put its folder into "
               "LD_LIBRARY_PATH");
    else
        refuse(error, "file", text, "rebuild the plugin for this machine");
}

/* Opens with everything bound; the handle, or NULL and the true reason. */
static void *preflight(const char *path, eng_module_error *error)
{
    dlerror();
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        explain_dlerror(path, text ? text : "the loader gives no reason", error);
    }
    return handle;
}

static lt_dlhandle ltdl_open(const char *path, eng_module_error *error)
{
    lt_dladvise advise;
    lt_dlhandle module = NULL;
    if (!ltdl_ready && lt_dlinit() != 0) {
        refuse(error, "file", "libltdl cannot be initialised", "check the installation of libltdl");
        return NULL;
    }
    ltdl_ready = true;
    if (lt_dladvise_init(&advise) == 0) {
        if (lt_dladvise_local(&advise) == 0 && lt_dladvise_resident(&advise) == 0)
            module = lt_dlopenadvise(path, advise);
        lt_dladvise_destroy(&advise);
    }
    if (!module)
        refuse(error, "file", "the system's loader opens it, but libltdl does not",
               "check the installation of libltdl");
    return module;
}

/*
 * The loader finds a symbol in a module's dependencies too.  A descriptor
 * counts only if it lies in the plugin's own file.
 */
static bool in_file(const void *address, const char *path)
{
    Dl_info info;
    struct stat a, b;
    return dladdr(address, &info) && info.dli_fname && stat(info.dli_fname, &a) == 0 && stat(path, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* NAME_LTX_eng_plugin_descriptor; what C does not allow in a name becomes '_'. */
static bool symbol_of(const char *name, char *symbol, size_t bytes)
{
    int n = snprintf(symbol, bytes, "%s_LTX_eng_plugin_descriptor", name);
    if (n < 0 || (size_t)n >= bytes)
        return false;
    for (char *c = symbol; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
            *c = '_';
    return true;
}

static const eng_plugin_descriptor *find_descriptor(lt_dlhandle module, const char *path, const char *name,
                                                    eng_module_error *error)
{
    char symbol[128], text[256];
    if (!symbol_of(name, symbol, sizeof symbol)) {
        refuse(error, "name", "its file name is too long", "give the file a shorter name");
        return NULL;
    }
    const void *address = lt_dlsym(module, symbol);
    if (address && in_file(address, path))
        return address;
    snprintf(text, sizeof text, address ? "the symbol %s comes from another library, not from this file"
                                        : "the file has no symbol %s", symbol);
    refuse(error, "descriptor", text, "not a plugin of libengine, or renamed: the descriptor is exported by "
           "ENG_PLUGIN_EXPORT(NAME), NAME being the file's name without .so");
    return NULL;
}

const eng_plugin_descriptor *eng_module_load(const char *path, const char *name, eng_module_error *error)
{
    const eng_plugin_descriptor *descriptor = NULL;
    if (!check_file(path, error))
        return NULL;
    pthread_mutex_lock(&ltdl_lock);
    void *first = preflight(path, error);
    if (first) {
        lt_dlhandle module = ltdl_open(path, error);
        if (module)
            descriptor = find_descriptor(module, path, name, error);
        dlclose(first);
    }
    pthread_mutex_unlock(&ltdl_lock);
    return descriptor;
}
