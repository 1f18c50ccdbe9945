/* A program that is built against the installed library through pkg-config. */
#include <stdio.h>
#include <string.h>

#include <engine/engine.h>
#include <engine/lm.h>

int main(void)
{
    eng_context *context;
    eng_device_info info = {.size = sizeof info};
    if (eng_context_create(NULL, &context) < 0) {
        fprintf(stderr, "%s\n", eng_last_error());
        return 1;
    }
    int found = 0;
    for (uint32_t i = 0; eng_context_device_info(context, i, &info) == ENG_OK; i++)
        found |= strcmp(info.name, "cpu") == 0;
    if (!found)
        fputs("the installed engine has no cpu device\n", stderr);
    return eng_context_destroy(context) < 0 || !found;
}
