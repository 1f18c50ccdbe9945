/*
 * Instructions of tiles (AMX), done by the process itself where the processor has none: it raises SIGILL, and what is at
 * the program's counter is decoded and done.  So what is tested is the code that such a processor is given, byte by byte.
 * After Intel's Software Developer's Manual, volume 2: encodings, what is undefined, operations.
 */
#include "config.h"

#include "tiles.h"

#if defined(__x86_64__) && defined(__linux__)

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define TILES 8
#define ROWS 16
#define LINE 64

typedef union tile {
    uint8_t bytes[ROWS][LINE];
    int32_t words[ROWS][LINE / 4];
    float floats[ROWS][LINE / 4];
    uint16_t halves[ROWS][LINE / 2];
} tile;

static _Thread_local struct state {
    bool configured;
    int rows[TILES], bytes[TILES];
    tile data[TILES];
} state;
static atomic_long done, in_use; /* instructions; threads that have tiles */

long tiles_emulated(void)
{
    return atomic_load(&done);
}

/* In a handler of signals: nothing but write(). */
static void give_up(const char *why)
{
    static const char head[] = "Bail out! tiles: ";
    if (write(STDOUT_FILENO, head, sizeof head - 1) < 0 || write(STDOUT_FILENO, why, strlen(why)) < 0 ||
        write(STDOUT_FILENO, "\n", 1) < 0)
        _exit(3);
    _exit(2);
}

static void need(bool good, const char *why)
{
    if (!good)
        give_up(why);
}

/* -- an instruction -------------------------------------------------------------------------------- */

/* VEX.128.pp.0F38.W0 opcode, and what it is given. */
typedef struct instruction {
    int prefix; /* pp: 0 none, 1 66, 2 F3, 3 F2 */
    int opcode, reg, rm, vvvv;
    bool registers;  /* rm is a tile, else there is an address */
    bool sib;
    uint8_t *address; /* base and displacement                 */
    int64_t stride;   /* index times scale                     */
    int length;
} instruction;

static int64_t register_of(const ucontext_t *u, int number)
{
    static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return u->uc_mcontext.gregs[order[number]];
}

/* The operand in memory that begins at modrm, which is `before` bytes behind the instruction's. */
static void decode_address(const ucontext_t *u, const uint8_t *at, int before, int x, int b, instruction *i)
{
    const int mod = at[0] >> 6, rm = at[0] & 7;
    int64_t base = 0;
    int length = 1, base_number = rm | b << 3;
    i->stride = 0;
    i->sib = rm == 4;
    if (i->sib) {
        const int index = (at[1] >> 3 & 7) | x << 3;
        base_number = (at[1] & 7) | b << 3;
        i->stride = index == 4 ? 0 : register_of(u, index) * (1 << (at[1] >> 6));
        length = 2;
    }
    const bool no_base = mod == 0 && (base_number & 7) == 5, beside = no_base && !i->sib;
    int32_t displacement = 0;
    if (mod == 1) {
        displacement = (int8_t)at[length];
        length += 1;
    } else if (mod == 2 || no_base) {
        memcpy(&displacement, at + length, 4);
        length += 4;
    }
    if (!no_base)
        base = register_of(u, base_number);
    i->length = before + length;
    if (beside)
        base = u->uc_mcontext.gregs[REG_RIP] + i->length;
    i->address = (uint8_t *)(intptr_t)(base + displacement);
}

static bool decode(const ucontext_t *u, instruction *i)
{
    const uint8_t *at = (const uint8_t *)(intptr_t)u->uc_mcontext.gregs[REG_RIP];
    if (at[0] != 0xc4 || (at[1] & 0x1f) != 2 || (at[2] & 0x84)) /* W and L are zero */
        return false;
    const int r = !(at[1] & 0x80), x = !(at[1] & 0x40), b = !(at[1] & 0x20);
    *i = (instruction){.prefix = at[2] & 3, .vvvv = ~at[2] >> 3 & 15, .opcode = at[3], .reg = (at[4] >> 3 & 7) | r << 3,
                       .rm = (at[4] & 7) | b << 3, .registers = at[4] >> 6 == 3, .length = 5};
    if (!i->registers)
        decode_address(u, at + 4, 4, x, b, i);
    return i->opcode == 0x49 || i->opcode == 0x4b || i->opcode == 0x5e || i->opcode == 0x5c;
}

/* -- what they do ----------------------------------------------------------------------------------- */

static void give_back(void)
{
    if (state.configured)
        atomic_fetch_sub(&in_use, 1);
    memset(&state, 0, sizeof state);
}

static void configure(const uint8_t *from)
{
    give_back();
    need(from[0] == 1, "ldtilecfg: the palette is 1");
    for (int i = 1; i < 16; i++)
        need(from[i] == 0, "ldtilecfg: reserved bytes are zero");
    for (int t = 0; t < 16; t++) {
        const int bytes = from[16 + 2 * t] | from[17 + 2 * t] << 8, rows = from[48 + t];
        need(t < TILES || (bytes == 0 && rows == 0), "ldtilecfg: there are eight tiles");
        need(bytes <= LINE && rows <= ROWS && (bytes == 0) == (rows == 0), "ldtilecfg: 16 rows of 64 bytes at most");
        if (t < TILES) {
            state.rows[t] = rows;
            state.bytes[t] = bytes;
        }
    }
    state.configured = true;
    atomic_fetch_add(&in_use, 1);
}

static void need_tile(int t)
{
    need(state.configured, "a tile is used before ldtilecfg or after tilerelease");
    need(t < TILES && state.rows[t] > 0, "a tile is used that has no shape");
}

static void zero_tile(int t)
{
    need_tile(t);
    memset(&state.data[t], 0, sizeof state.data[t]);
}

static void load_tile(const instruction *i)
{
    zero_tile(i->reg);
    need(i->sib, "tileloadd: an address without an index");
    for (int r = 0; r < state.rows[i->reg]; r++)
        memcpy(state.data[i->reg].bytes[r], i->address + r * i->stride, (size_t)state.bytes[i->reg]);
}

static void store_tile(const instruction *i)
{
    need_tile(i->reg);
    need(i->sib, "tilestored: an address without an index");
    for (int r = 0; r < state.rows[i->reg]; r++)
        memcpy(i->address + r * i->stride, state.data[i->reg].bytes[r], (size_t)state.bytes[i->reg]);
}

static void need_product(const instruction *i)
{
    const int c = i->reg, a = i->rm, b = i->vvvv;
    need(i->registers, "a product of tiles in memory");
    need_tile(c);
    need_tile(a);
    need_tile(b);
    need(c != a && c != b && a != b, "a product of a tile with itself");
    need(state.rows[c] == state.rows[a] && state.bytes[c] == state.bytes[b] && state.bytes[a] == 4 * state.rows[b],
         "a product of tiles that do not fit one another");
    need(state.bytes[a] % 4 == 0 && state.bytes[b] % 4 == 0, "a product of rows that are not whole words");
}

static int number_of(uint8_t byte, bool has_sign)
{
    return has_sign ? (int8_t)byte : byte;
}

static void multiply_bytes(const instruction *i)
{
    static const bool sign_a[4] = {false, false, true, true}, sign_b[4] = {false, true, false, true};
    const bool of_a = sign_a[i->prefix], of_b = sign_b[i->prefix]; /* uu, us, su, ss */
    need_product(i);
    const tile *a = &state.data[i->rm], *b = &state.data[i->vvvv];
    tile *c = &state.data[i->reg];
    for (int m = 0; m < state.rows[i->reg]; m++)
        for (int k = 0; k < state.bytes[i->rm]; k++)
            for (int n = 0; n < state.bytes[i->reg] / 4; n++)
                c->words[m][n] += number_of(a->bytes[m][k], of_a) * number_of(b->bytes[k / 4][4 * n + k % 4], of_b);
}

/* What is smaller than the least normal number is zero. */
static float flushed(float x)
{
    return x < 0x1p-126f && x > -0x1p-126f ? 0 * x : x;
}

static float widened(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return flushed(x);
}

/* Sums of even and of odd elements from zero, which are added at the end.  A product is exact, so that to add it is one
 * rounding, as in the instruction. */
static void multiply_bf16(const instruction *i)
{
    need(i->prefix == 2, "another product of tiles than tdpbf16ps");
    need_product(i);
    const tile *a = &state.data[i->rm], *b = &state.data[i->vvvv];
    tile *c = &state.data[i->reg];
    for (int m = 0; m < state.rows[i->reg]; m++)
        for (int n = 0; n < state.bytes[i->reg] / 4; n++) {
            float sum[2] = {0, 0};
            for (int k = 0; k < state.bytes[i->rm] / 2; k++)
                sum[k % 2] = flushed(sum[k % 2] + widened(a->halves[m][k]) * widened(b->halves[k / 2][2 * n + k % 2]));
            c->floats[m][n] = flushed(flushed(c->floats[m][n]) + flushed(sum[0] + sum[1]));
        }
}

/* false: it is none of these. */
static bool execute(const instruction *i)
{
    need(i->opcode == 0x5e || i->opcode == 0x5c || i->vvvv == 0, "an instruction with an operand too many");
    if (i->opcode == 0x49 && i->prefix == 0 && !i->registers)
        configure(i->address);
    else if (i->opcode == 0x49 && i->prefix == 0)
        give_back();
    else if (i->opcode == 0x49 && i->prefix == 3 && i->registers)
        zero_tile(i->reg);
    else if (i->opcode == 0x4b && (i->prefix == 3 || i->prefix == 1) && !i->registers)
        load_tile(i);
    else if (i->opcode == 0x4b && i->prefix == 2 && !i->registers)
        store_tile(i);
    else if (i->opcode == 0x5e)
        multiply_bytes(i);
    else if (i->opcode == 0x5c)
        multiply_bf16(i);
    else
        return false;
    return true;
}

static void on_illegal(int signal_number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    instruction i;
    (void)info;
    if (decode(u, &i) && execute(&i)) {
        u->uc_mcontext.gregs[REG_RIP] += i.length;
        atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
        return;
    }
    signal(signal_number, SIG_DFL); /* it comes again, and ends the process as it would have */
}

long tiles_in_use(void)
{
    return atomic_load(&in_use);
}

bool emulate_tiles(void)
{
    struct sigaction action = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGILL, &action, NULL) == 0;
}

#else

bool emulate_tiles(void)
{
    return false;
}

long tiles_in_use(void)
{
    return 0;
}

long tiles_emulated(void)
{
    return 0;
}

#endif
