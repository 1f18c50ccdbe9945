/*
 * Draws inputs for a fuzz target: seeds, changed in a few places.  TAP.
 *     fuzz-TARGET [--runs N] [--seconds S] [--seed S] [--only RUN [--keep FILE]] [FILE...]
 * The same seed and run are the same input everywhere; who crashes or computes for longer than 20 seconds says how to
 * repeat it.
 */
#include "config.h"

#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MOST_SEEDS 16
#define SECONDS_A_RUN 20

typedef struct input {
    uint8_t *data;
    size_t n, room;
} input;

static input seeds[MOST_SEEDS];
static unsigned n_seeds;
static uint64_t seed = 1, run_number, state;

/* splitmix64 */
static uint64_t draw(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Below n, in all orders of magnitude alike: what is at the beginning tells what follows. */
static size_t place(size_t n)
{
    unsigned bits = 0;
    while (bits < 63 && n >> bits)
        bits++;
    uint64_t limit = UINT64_C(1) << (draw() % (bits + 1));
    return n ? (size_t)(draw() % (limit < n ? limit : n)) : 0;
}

static void room_for(input *in, size_t n)
{
    if (n > in->room) {
        in->room = 2 * n;
        in->data = realloc(in->data, in->room);
        if (!in->data)
            exit(99);
    }
}

static void insert(input *in, size_t at, const uint8_t *data, size_t n)
{
    room_for(in, in->n + n + 1);
    memmove(in->data + at + n, in->data + at, in->n - at);
    memcpy(in->data + at, data, n);
    in->n += n;
}

/* A number that something may trip over, of 1 to 8 bytes. */
static void overwrite(input *in, size_t at)
{
    static const uint64_t odd[] = {0, 1, 2, 31, 32, 33, 64, 127, 128, 255, 256, 1000, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
                                   0xffffffff, UINT64_C(1) << 32, UINT64_C(1) << 40, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    uint64_t value = odd[draw() % (sizeof odd / sizeof *odd)];
    size_t bytes = (size_t)1 << draw() % 4;
    for (size_t i = 0; i < bytes && at + i < in->n; i++)
        in->data[at + i] = (uint8_t)(value >> 8 * i);
}

static void change(input *in)
{
    size_t at = place(in->n), length = 1 + place(32);
    const input *other = &seeds[draw() % n_seeds];
    uint8_t piece[64];
    switch (draw() % 9) {
    case 0: if (in->n) in->data[at] = (uint8_t)draw(); break;
    case 1: if (in->n) in->data[at] ^= (uint8_t)(1u << draw() % 8); break;
    case 2:
    case 3: overwrite(in, at); break;
    case 4: /* twice */
        length = length > in->n - at ? in->n - at : length;
        memcpy(piece, in->data + at, length);
        insert(in, place(in->n), piece, length);
        break;
    case 5: /* gone */
        length = length > in->n - at ? in->n - at : length;
        memmove(in->data + at, in->data + at + length, in->n - at - length);
        in->n -= length;
        break;
    case 6: /* from elsewhere */
        if (other->n) {
            size_t from = place(other->n);
            length = length > other->n - from ? other->n - from : length;
            memcpy(piece, other->data + from, length);
            insert(in, at, piece, length);
        }
        break;
    case 7: /* a character of any length */
        insert(in, at,
               (const uint8_t[]){(uint8_t)(0xc0 | draw() % 64), (uint8_t)(0x80 | draw() % 64),
                                 (uint8_t)(0x80 | draw() % 64)},
               1 + draw() % 3);
        break;
    default:
        if (draw() % 8 == 0)
            in->n = at;
    }
}

/* The input of a run, in memory that ends where it ends. */
static uint8_t *make(size_t *n)
{
    input in = {0};
    state = seed * UINT64_C(0x2545f4914f6cdd1d) + run_number;
    const input *base = &seeds[draw() % n_seeds];
    room_for(&in, base->n + 1);
    memcpy(in.data, base->data, base->n);
    in.n = base->n;
    for (uint64_t k = 1 + draw() % 6; k > 0; k--)
        change(&in);
    uint8_t *exact = malloc(in.n ? in.n : 1);
    if (!exact)
        exit(99);
    memcpy(exact, in.data, in.n);
    *n = in.n;
    free(in.data);
    return exact;
}

/* -- what happens at the end of a bad run ------------------------------------------------- */

static size_t digits(char *to, uint64_t value)
{
    char back[24];
    size_t n = 0;
    do
        back[n++] = (char)('0' + value % 10);
    while (value /= 10);
    for (size_t i = 0; i < n; i++)
        to[i] = back[n - 1 - i];
    return n;
}

/* By write alone: the process may be in any state. */
static void ended(int number)
{
    char text[160];
    size_t n = 0;
    static const char *const parts[] = {"not ok 1 - signal ", "; repeat it with --seed ", " --only ", "\n"};
    const uint64_t numbers[] = {(uint64_t)number, seed, run_number};
    for (int i = 0; i < 4; i++) {
        memcpy(text + n, parts[i], strlen(parts[i]));
        n += strlen(parts[i]);
        if (i < 3)
            n += digits(text + n, numbers[i]);
    }
    if (write(STDOUT_FILENO, text, n) < 0)
        _exit(98);
    signal(number, SIG_DFL);
    raise(number);
}

/* -- seeds ----------------------------------------------------------------------------------- */

static void add_seed(const void *data, size_t n)
{
    if (n_seeds == MOST_SEEDS)
        return;
    input *in = &seeds[n_seeds++];
    room_for(in, n + 1);
    memcpy(in->data, data, n);
    in->n = n;
}

static int add_file(const char *path)
{
    static uint8_t data[1 << 22];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 99;
    }
    add_seed(data, fread(data, 1, sizeof data, f));
    fclose(f);
    return 0;
}

static int keep(const char *path)
{
    size_t n;
    uint8_t *data = make(&n);
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(data, 1, n, f) == n;
    good = f && fclose(f) == 0 && good;
    free(data);
    if (!good)
        perror(path);
    return good ? 0 : 99;
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {{"runs", required_argument, NULL, 'r'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"only", required_argument, NULL, 'o'},
                                          {"keep", required_argument, NULL, 'k'},
                                          {NULL, 0, NULL, 0}};
    static const int bad[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF};
    uint64_t runs = 500, seconds = 0, only = 0, done = 0;
    const char *kept = NULL;
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;)
        switch (c) {
        case 'r': runs = strtoull(optarg, NULL, 10); break;
        case 't': seconds = strtoull(optarg, NULL, 10); break;
        case 's': seed = strtoull(optarg, NULL, 10); break;
        case 'o': only = strtoull(optarg, NULL, 10); break;
        case 'k': kept = optarg; break;
        default: return 64;
        }
    for (size_t i = 0; fuzz_seeds[i]; i++)
        add_seed(fuzz_seeds[i], strlen(fuzz_seeds[i]));
    for (; optind < argc; optind++)
        if (add_file(argv[optind]))
            return 99;
    size_t n_sample;
    const void *sample = fuzz_sample(&n_sample);
    for (int i = 0; n_sample && i < 4; i++) /* more often than others */
        add_seed(sample, n_sample);
    if (!n_seeds)
        return 64;
    run_number = only;
    if (only && kept && keep(kept))
        return 99;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        signal(bad[i], ended);
    printf("1..1\n");
    fflush(stdout);
    const time_t begin = time(NULL);
    for (run_number = only ? only : 1; seconds ? (uint64_t)(time(NULL) - begin) < seconds : done < runs; run_number++) {
        size_t n;
        uint8_t *data = make(&n);
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = SECONDS_A_RUN}}, NULL);
        LLVMFuzzerTestOneInput(data, n);
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {0}}, NULL);
        free(data);
        done++;
        if (only)
            break;
    }
    printf("ok 1 - %llu inputs, seed %llu\n", (unsigned long long)done, (unsigned long long)seed);
    for (unsigned i = 0; i < n_seeds; i++)
        free(seeds[i].data);
    return 0;
}
