/* engine-generate: waits for what is typed, and misses no Ctrl-C before or meanwhile. */
#include "config.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "chat_input.h"
#include "generate_run.h"

bool chat_input_wait(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigprocmask(SIG_BLOCK, &ours, &before);
    if (!interrupted)
        ppoll(&p, 1, NULL, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return !interrupted;
}
