/* A program that is built against the installed library through pkg-config; its argument: a device that must be
 * there. */
#include <stdio.h>
#include <string.h>

#include <engine/engine.h>
#include <engine/lm.h>

int main(int argc, char **argv)
{
    eng_context *context;
    eng_device_info info = {.size = sizeof info};
    if (eng_context_create(NULL, &context) < 0) {
        fprintf(stderr, "%s\n", eng_last_error());
        return 1;
    }
    int found = argc < 2;
    for (uint32_t i = 0; eng_context_device_info(context, i, &info) == ENG_OK; i++)
        found |= argc > 1 && strcmp(info.name, argv[1]) == 0;
    if (!found)
        fprintf(stderr, "the installed engine has no device '%s'\n", argv[1]);
    return eng_context_destroy(context) < 0 || !found;
}
