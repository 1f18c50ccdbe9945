/* engine-quantize and make-model: blocks, fallbacks, command line. */
#include "config.h"

#include <check.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"
#include "sha256.h"

#define OUT "test-quantize.gguf"
#define OTHER "test-quantize-2.gguf"

static const char *folder(const char *variable)
{
    const char *value = getenv(variable);

    return value ? value : ".";
}

static char said[65536]; /* stdout and stderr of the last command */

/* Runs a command of the build folder; `%` conversions as in printf. */
__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
    char command[8192];
    va_list args;
    int n = snprintf(command, sizeof command, "%s/", folder("top_builddir"));

    va_start(args, format);
    vsnprintf(command + n, sizeof command - (size_t)n, format, args);
    va_end(args);
    strcat(command, " 2>&1");
    FILE *pipe = popen(command, "r");
    ck_assert(pipe != NULL);
    size_t used = fread(said, 1, sizeof said - 1, pipe);
    said[used] = 0;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void runs(int status, int expected)
{
    ck_assert_msg(status == expected, "exit status %d instead of %d: %s", status, expected, said);
}

static void says(const char *text)
{
    ck_assert_msg(strstr(said, text) != NULL, "\"%s\" does not say \"%s\"", said, text);
}

static const char *model(void)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/tests/data/tiny-hybrid-f16.gguf", folder("top_srcdir"));
    return path;
}

static eng_gguf *opened(const char *path)
{
    eng_gguf *g = NULL;

    ck_assert_msg(eng_gguf_open(path, &g) == ENG_OK, "%s", eng_last_error());
    return g;
}

static uint32_t type_of(const eng_gguf *g, const char *name)
{
    const eng_gguf_tensor *t = eng_gguf_tensor_find(g, name);

    ck_assert_msg(t != NULL, "no tensor %s", name);
    return t->type;
}

static void clean(void)
{
    unlink(OUT);
    unlink(OTHER);
}

static char *contents(const char *path, long *n)
{
    FILE *f = fopen(path, "rb");

    ck_assert(f && fseek(f, 0, SEEK_END) == 0 && (*n = ftell(f)) > 0);
    char *data = malloc((size_t)*n);
    rewind(f);
    ck_assert(data && fread(data, 1, (size_t)*n, f) == (size_t)*n);
    fclose(f);
    return data;
}

/* -- blocks -------------------------------------------------------------------- */

START_TEST(hashes_of_nothing)
{
    char hex[65], million[1000];

    sha256("abc", 3, hex);
    ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    memset(million, 'a', sizeof million);
    sha256(million, 119, hex); /* two blocks of padding or one: around the border */
    sha256("", 0, hex);
    ck_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
END_TEST

/* Every type gives the recorded blocks for three tensors. */
START_TEST(blocks)
{
    char path[4096], line[256], name[64], type[16], hash[65], made[16] = "", hex[65];
    eng_gguf *g = NULL;
    int cases = 0;

    snprintf(path, sizeof path, "%s/tests/data/quantised-f16.txt", folder("top_srcdir"));
    FILE *list = fopen(path, "r");
    ck_assert(list != NULL);
    while (fgets(line, sizeof line, list)) {
        if (line[0] == '#' || sscanf(line, "%63s %15s %64s", name, type, hash) != 3)
            continue;
        if (strcmp(made, type) != 0) {
            eng_gguf_close(g);
            runs(run("engine-quantize --force %s %s %s", model(), OUT, type), 0);
            g = opened(OUT);
            strcpy(made, type);
        }
        const eng_gguf_tensor *t = eng_gguf_tensor_find(g, name);
        ck_assert(t != NULL);
        ck_assert_str_eq(eng_type_get(t->type)->name, type);
        sha256(t->data, t->bytes, hex);
        ck_assert_msg(strcmp(hex, hash) == 0, "%s as %s: other blocks than recorded", name, type);
        cases++;
    }
    fclose(list);
    eng_gguf_close(g);
    clean();
    ck_assert_int_ge(cases, 48);
}
END_TEST

/* Patterns mean what PCRE2 says, and end. */
START_TEST(patterns)
{
    runs(run("engine-quantize %s %s f16 -T 'blk\\.\\d+\\.ffn_(?:up|down)\\.=q8_0'", model(), OUT), 0);
    eng_gguf *g = opened(OUT);
    for (uint32_t i = 0; i < eng_gguf_tensor_count(g); i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(g, i);
        int meant = strstr(t->name, ".ffn_up.") || strstr(t->name, ".ffn_down.");
        ck_assert_msg((t->type == ENG_TYPE_Q8_0) == meant, "%s", t->name);
    }
    eng_gguf_close(g);
    runs(run("engine-quantize %s %s f16 -T '([a-z0-9_.]+)+[!?]=q8_0'", model(), OTHER), 1);
    ck_assert_msg(strstr(said, "takes too long") != NULL, "%s", said);
    clean();
}
END_TEST

/* f16 to f32 and back is the file it was. */
START_TEST(there_and_back)
{
    runs(run("engine-quantize -q %s %s f32", model(), OUT), 0);
    ck_assert_str_eq(said, "");
    runs(run("engine-quantize %s %s f16 --tensor 'ssm_(alpha|beta).weight=f16'", OUT, OTHER), 0);
    eng_gguf *a = opened(model()), *b = opened(OTHER);
    ck_assert_uint_eq(eng_gguf_tensor_count(a), eng_gguf_tensor_count(b));
    ck_assert_uint_eq(eng_gguf_key_count(a), eng_gguf_key_count(b));
    for (uint32_t i = 0; i < eng_gguf_tensor_count(a); i++) {
        const eng_gguf_tensor *x = eng_gguf_tensor_get(a, i), *y = eng_gguf_tensor_get(b, i);
        ck_assert_str_eq(x->name, y->name);
        ck_assert_uint_eq(x->type, y->type);
        ck_assert_uint_eq(x->bytes, y->bytes);
        ck_assert_msg(memcmp(x->data, y->data, x->bytes) == 0, "%s differs", x->name);
    }
    eng_gguf_close(a);
    eng_gguf_close(b);
    clean();
}
END_TEST

/* -- choice of types -------------------------------------------------------------- */

START_TEST(what_stays)
{
    runs(run("engine-quantize %s %s q4_K", model(), OUT), 0);
    eng_gguf *g = opened(OUT);
    ck_assert_uint_eq(type_of(g, "token_embd.weight"), ENG_TYPE_Q4_K);
    ck_assert_uint_eq(type_of(g, "output.weight"), ENG_TYPE_Q4_K);
    ck_assert_uint_eq(type_of(g, "blk.4.nextn.eh_proj.weight"), ENG_TYPE_Q4_K);
    ck_assert_uint_eq(type_of(g, "output_norm.weight"), ENG_TYPE_F32);
    ck_assert_uint_eq(type_of(g, "blk.0.ssm_conv1d.weight"), ENG_TYPE_F32);
    ck_assert_uint_eq(type_of(g, "blk.0.ssm_a"), ENG_TYPE_F32);
    ck_assert_uint_eq(type_of(g, "blk.0.ssm_beta.weight"), ENG_TYPE_F16); /* small */
    int64_t kind;
    ck_assert_int_eq(eng_gguf_integer(g, "general.file_type", 0, &kind), ENG_OK);
    ck_assert_int_eq(kind, 15);
    eng_gguf_close(g);
    runs(run("engine-quantize --force %s %s q4_0 -T '^output.weight$=q6_K' -T 'ffn_(up|gate)=iq4_nl'", model(), OUT), 0);
    g = opened(OUT);
    ck_assert_uint_eq(type_of(g, "output.weight"), ENG_TYPE_Q6_K);
    ck_assert_uint_eq(type_of(g, "blk.1.ffn_up.weight"), ENG_TYPE_IQ4_NL);
    ck_assert_uint_eq(type_of(g, "blk.1.ffn_down.weight"), ENG_TYPE_Q4_0);
    eng_gguf_close(g);
    clean();
}
END_TEST

START_TEST(fallbacks)
{
    runs(run("tests/tools/make-model --embd 96 --ffn 205 --head 48 --vocab 1021 %s", OUT), 0);
    runs(run("engine-quantize %s %s q4_K", OUT, OTHER), 0);
    says("blk.0.ffn_down.weight: rows of 205 elements are no blocks of q4_K: f16 instead");
    says("blk.0.ffn_up.weight: rows of 96 elements are no blocks of q4_K: q8_0 instead");
    eng_gguf *g = opened(OTHER);
    ck_assert_uint_eq(type_of(g, "blk.0.ffn_down.weight"), ENG_TYPE_F16);
    ck_assert_uint_eq(type_of(g, "token_embd.weight"), ENG_TYPE_Q8_0);
    eng_gguf_close(g);
    clean();
}
END_TEST

/* -- command lines ------------------------------------------------------------------ */

/* Which matrices of a mix have more bits, by the layers of a model of eight; and what is told of it. */
START_TEST(mixes)
{
    runs(run("tests/tools/make-model --arch llama --seed 5 --layers 8 --embd 256 --ffn 512 --vocab 300 --heads 8 "
             "--kv-heads 2 %s",
             OTHER), 0);
    runs(run("engine-quantize --force %s %s q4_k_m", OTHER, OUT), 0);
    says("output.weight: q6_K\n");
    says("blk.0.attn_v.weight: q6_K\n");
    says("blk.3.ffn_down.weight: q6_K\n");
    says("blk.7.ffn_down.weight: q6_K\n");
    ck_assert_ptr_null(strstr(said, "blk.1.ffn_down.weight: "));
    ck_assert_ptr_null(strstr(said, "ffn_up.weight: "));
    says(" MB of weights are to be written, ");
    runs(run("engine-quantize --force --errors %s %s Q3_K_L", OTHER, OUT), 0);
    says("blk.4.attn_output.weight: q5_K\n");
    says("blk.4.ffn_up.weight: q3_K, error 0.");
    runs(run("engine-quantize --force %s %s Q2_K_S --tensor-type 'attn_v=q8_0'", OTHER, OUT), 0);
    says("blk.2.attn_v.weight: q8_0\n");
    says("blk.0.ffn_down.weight: q4_K\n");
    runs(run("engine-quantize --force -q %s %s Q4_K_M", OTHER, OUT), 0);
    ck_assert_str_eq(said, "");
    runs(run("engine-quantize --force %s %s Q4_K_X", OTHER, OUT), 64);
    says("and mixes: Q2_K_S");
    runs(run("engine-quantize --force %s %s iq4_xs", OTHER, OUT), 0);
    says("iq4_xs for all matrices; --mix gives some of them more");
    ck_assert_ptr_null(strstr(said, "output.weight: "));
    runs(run("engine-quantize --force --mix %s %s iq4_xs", OTHER, OUT), 0);
    says("output.weight: q6_K\n");
    says("blk.5.attn_v.weight: q5_K\n");
    says("blk.0.ffn_down.weight: q5_K\n");
    eng_gguf *g = opened(OUT);
    int64_t number = 0;
    ck_assert_int_eq(eng_gguf_integer(g, "general.file_type", 0, &number), ENG_OK);
    ck_assert_int_eq(number, 30);
    eng_gguf_close(g);
    runs(run("engine-quantize --force %s %s IQ2_M", OTHER, OUT), 1);
    says("with so few bits as iq2_s has");
    runs(run("engine-quantize --force %s %s Q4_K_L", OTHER, OUT), 64);
    says("Q4_K_L is not made: a publisher's: Q4_K_M with -T");
    remove(OTHER);
    remove(OUT);
}
END_TEST

START_TEST(usage)
{
    runs(run("engine-quantize --help"), 0);
    says("usage: engine-quantize");
    runs(run("engine-quantize --version"), 0);
    says(eng_version());
    runs(run("engine-quantize"), 64);
    runs(run("engine-quantize --no-such-option a b q4_0"), 64);
    runs(run("engine-quantize a b q4_7"), 64);
    says("q4_7");
    runs(run("engine-quantize a b i32"), 64);
    runs(run("engine-quantize a b q4_0 -T x=i64"), 64);
    says("\"i64\" is no type of weights");
    runs(run("engine-quantize a b q4_0 -T x"), 64);
    runs(run("engine-quantize a b q4_0 -T '[=q4_0'"), 64);
    runs(run("engine-quantize a b q4_0 -T x=nothing"), 64);
}
END_TEST

START_TEST(failures)
{
    char before[8192];

    runs(run("engine-quantize no-such-file %s q4_0", OUT), 1);
    says("no-such-file");
    ck_assert_int_ne(access(OUT, F_OK), 0);
    runs(run("engine-quantize %s no/such/folder/x q4_0", model()), 1);
    says("no/such/folder");
    runs(run("engine-quantize -d no-such-device %s %s q4_0", model(), OUT), 1);
    says("no-such-device");
    ck_assert_int_ne(access(OUT, F_OK), 0);
    runs(run("engine-quantize %s %s q4_0 -T 'nothing like it=f16'", model(), OUT), 1);
    says("nothing like it");
    /* a truncated file is not begun with */
    snprintf(before, sizeof before, "head -c 5000000 %s > %s", model(), OTHER);
    ck_assert_int_eq(system(before), 0);
    runs(run("engine-quantize %s %s q4_0", OTHER, OUT), 1);
    says("truncated");
    ck_assert_int_ne(access(OUT, F_OK), 0);
    clean();
}
END_TEST

/* -- where it is written -------------------------------------------------------------- */

static void refused_onto(const char *from, const char *to, const char *text, const char *before, long n)
{
    long now;

    runs(run("engine-quantize --force %s %s q4_0", from, to), 1);
    says(text);
    char *after = contents(OUT, &now);
    ck_assert_int_eq(now, n);
    ck_assert_mem_eq(before, after, (size_t)n);
    free(after);
}

/* A model is never written onto itself, by whatever name. */
START_TEST(onto_itself)
{
    static const char text[] = "is a file that the model is read from";
    char folder_name[2048];
    long n;

    unlink(OTHER);
    runs(run("tests/tools/make-model --layers 1 %s", OUT), 0);
    char *before = contents(OUT, &n);
    refused_onto(OUT, OUT, text, before, n);
    ck_assert(getcwd(folder_name, sizeof folder_name) != NULL);
    strcat(folder_name, "/" OUT);
    refused_onto(OUT, folder_name, text, before, n);
    ck_assert_int_eq(symlink(OUT, OTHER), 0);
    refused_onto(OUT, OTHER, text, before, n);
    refused_onto(OTHER, OUT, text, before, n);
    unlink(OTHER);
    ck_assert_int_eq(link(OUT, OTHER), 0);
    refused_onto(OUT, OTHER, text, before, n);
    free(before);
    clean();
}
END_TEST

/* Nor onto another part of itself. */
START_TEST(onto_parts)
{
    char parts[2][64];
    long n, now;

    for (int i = 0; i < 2; i++)
        snprintf(parts[i], sizeof parts[i], "test-quantize-%05d-of-00002.gguf", i + 1);
    runs(run("tests/tools/make-model --layers 1 --split 2 %s", OUT), 0);
    char *before = contents(parts[1], &n);
    runs(run("engine-quantize --force %s %s q4_0", parts[0], parts[1]), 1);
    says("is a file that the model is read from");
    char *after = contents(parts[1], &now);
    ck_assert_int_eq(now, n);
    ck_assert_mem_eq(before, after, (size_t)n);
    free(before);
    free(after);
    unlink(parts[0]);
    unlink(parts[1]);
}
END_TEST

START_TEST(onto_another)
{
    long n, now;

    clean();
    runs(run("tests/tools/make-model --layers 1 %s", OUT), 0);
    runs(run("engine-quantize -q %s %s q4_0", OUT, OTHER), 0);
    char *before = contents(OTHER, &n);
    runs(run("engine-quantize -q %s %s q8_0", OUT, OTHER), 1);
    says(OTHER " exists: give OUT another name, or --force to replace it");
    char *after = contents(OTHER, &now);
    ck_assert_int_eq(now, n);
    ck_assert_mem_eq(before, after, (size_t)n);
    runs(run("engine-quantize -q --force %s %s q8_0", OUT, OTHER), 0);
    eng_gguf *g = opened(OTHER);
    ck_assert_uint_eq(type_of(g, "output.weight"), ENG_TYPE_Q8_0);
    eng_gguf_close(g);
    runs(run("engine-quantize -q %s /dev/null q8_0", OUT), 0); /* a device is no file to replace */
    free(before);
    free(after);
    clean();
}
END_TEST

/* A signal in the midst of writing ends the program by that signal, and what was begun is gone. */
START_TEST(interrupts)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    char program[4096], part[128];
    int status;

    snprintf(program, sizeof program, "%s/engine-quantize", folder("top_builddir"));
    clean();
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < 3; i++)
            signal(numbers[i], SIG_DFL); /* a shell in the background has them ignored */
        execl(program, program, "-q", model(), OUT, "q2_K", (char *)NULL);
        _exit(127);
    }
    snprintf(part, sizeof part, OUT ".part-%ld", (long)child);
    while (access(part, F_OK) != 0 && waitpid(child, &status, WNOHANG) == 0)
        usleep(500);
    ck_assert_msg(kill(child, numbers[_i]) == 0, "it had ended before it began to write");
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == numbers[_i], "status %x", status);
    ck_assert_int_ne(access(part, F_OK), 0);
    ck_assert_int_ne(access(OUT, F_OK), 0);
}
END_TEST

/* Doubles and small integers, which only files have, become what is asked for. */
START_TEST(plain_types)
{
    static double eight[64 * 64], vector[64];
    static int8_t one[64 * 64];
    static int16_t two[64 * 64];
    const int64_t ne[] = {64, 64};
    eng_gguf_writer *w;

    for (int i = 0; i < 64 * 64; i++) {
        eight[i] = (i % 97 - 48) / 64.0;
        one[i] = (int8_t)(i % 251 - 125);
        two[i] = (int16_t)(i * 7 - 9000);
    }
    for (int i = 0; i < 64; i++)
        vector[i] = i / 3.0;
    ck_assert_int_eq(eng_gguf_writer_create(&w), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_text(w, "general.architecture", "llama"), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "d.weight", 28, ne, 2, eight), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "n.weight", 28, ne, 1, vector), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "b.weight", 24, ne, 2, one), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "s.weight", 25, ne, 2, two), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "t.table", 24, ne, 2, one), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_save(w, OUT), ENG_OK);
    eng_gguf_writer_destroy(w);
    runs(run("engine-quantize -e %s %s f32", OUT, OTHER), 0);
    says("b.weight: f32, error 0\n");
    eng_gguf *g = opened(OTHER);
    for (int i = 0; i < 64 * 64; i++) {
        ck_assert(((const float *)eng_gguf_tensor_find(g, "d.weight")->data)[i] == (float)eight[i]);
        ck_assert(((const float *)eng_gguf_tensor_find(g, "b.weight")->data)[i] == (float)one[i]);
        ck_assert(((const float *)eng_gguf_tensor_find(g, "s.weight")->data)[i] == (float)two[i]);
    }
    ck_assert(((const float *)eng_gguf_tensor_find(g, "n.weight")->data)[5] == (float)vector[5]);
    ck_assert_uint_eq(type_of(g, "t.table"), 24);
    eng_gguf_close(g);
    runs(run("engine-quantize -q --force %s %s q8_0", OUT, OTHER), 0);
    g = opened(OTHER);
    ck_assert_uint_eq(type_of(g, "d.weight"), ENG_TYPE_Q8_0);
    ck_assert_uint_eq(type_of(g, "n.weight"), ENG_TYPE_F32);
    eng_gguf_close(g);
    clean();
}
END_TEST

/* -- importance ------------------------------------------------------------------------ */

#define MATRIX "test-quantize-matrix.gguf"
#define DAT "test-quantize-matrix.dat"

static double measure(const char *file)
{
    runs(run("engine-generate -m %s -d cpu --perplexity %s/tests/data/valid.txt --chunks 4 2>/dev/null", file, folder("top_srcdir")), 0);
    return atof(said);
}

/* A matrix collected while a text is measured, whose numbers stay; weights lose less of what counts with it. */
START_TEST(importance)
{
    runs(run("engine-generate -m %s -d cpu --perplexity %s/tests/data/valid.txt --chunks 4 --imatrix-out %s 2>/dev/null", model(),
             folder("top_srcdir"), MATRIX), 0);
    const double f16 = atof(said), same = measure(model());
    ck_assert_msg(f16 == same, "%.6f with --imatrix-out, %.6f without", f16, same);
    runs(run("engine-quantize -q --force %s %s q2_K", model(), OUT), 0);
    const double plain = measure(OUT);
    runs(run("engine-quantize -q --force %s %s q2_K --imatrix %s", model(), OUT, MATRIX), 0);
    const double weighted = measure(OUT);
    ck_assert_msg(weighted < plain - 0.1, "q2_K: %.4f with importance, %.4f without", weighted, plain);
    runs(run("engine-quantize --force %s %s iq2_s -i %s", model(), OUT, MATRIX), 0);
    says("token_embd.weight: " MATRIX " does not say what is important in it: q4_K instead of iq2_s");
    const double few = measure(OUT);
    ck_assert_msg(few < f16 + 0.3, "iq2_s: %.4f, f16 %.4f", few, f16);
    eng_gguf *g = opened(OUT);
    ck_assert_uint_eq(type_of(g, "blk.0.ffn_up.weight"), ENG_TYPE_IQ2_S);
    eng_gguf_close(g);
    runs(run("engine-quantize -q --force %s %s tq1_0", model(), OUT), 0); /* needs none */
    clean();
}
END_TEST

START_TEST(no_importance)
{
    clean();
    runs(run("engine-quantize %s %s iq2_xxs", model(), OUT), 1);
    says("with so few bits as iq2_xxs has, a model is worth something only if");
    runs(run("engine-quantize %s %s q4_0 -T ffn_up=iq1_s", model(), OUT), 1);
    says("blk.0.ffn_up.weight");
    runs(run("engine-quantize %s %s q4_K -i no-such-file", model(), OUT), 1);
    says("no-such-file");
    runs(run("engine-quantize %s %s q4_K -i %s", model(), OUT, model()), 1);
    says("a GGUF file without importance");
    runs(run("engine-quantize %s %s q4_K -i %s/tests/data/valid.txt", model(), OUT, folder("top_srcdir")), 1);
    says("neither a GGUF file nor an importance matrix");
    runs(run("tests/tools/make-model --arch llama --embd 512 %s", OTHER), 0);
    runs(run("engine-quantize %s %s q4_K -i %s", OTHER, OUT, MATRIX), 1);
    says("it has 256 numbers for tensor \"");
    says("give the importance matrix of this model");
    runs(run("engine-generate -m %s -p x --imatrix-out %s", model(), MATRIX), 64);
    says("--imatrix-out collects while a text is measured");
    ck_assert_int_ne(access(OUT, F_OK), 0);
    clean();
}
END_TEST

static void put_number(FILE *f, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        fputc((int)(n >> 8 * i & 255), f);
}

/* The older form of a matrix means what the newer one does. */
START_TEST(older_importance)
{
    eng_gguf *g = opened(MATRIX);
    FILE *f = fopen(DAT, "wb");
    ck_assert(f != NULL);
    put_number(f, eng_gguf_tensor_count(g) / 2);
    for (uint32_t i = 0; i < eng_gguf_tensor_count(g); i += 2) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(g, i), *counts = eng_gguf_tensor_get(g, i + 1);
        const uint32_t length = (uint32_t)(strlen(t->name) - strlen(".in_sum2"));
        put_number(f, length);
        fwrite(t->name, 1, length, f);
        put_number(f, 4);
        put_number(f, (uint32_t)t->ne[0]);
        for (int64_t k = 0; k < t->ne[0]; k++) {
            const float v = ((const float *)t->data)[k] / *(const float *)counts->data;
            fwrite(&v, 4, 1, f);
        }
    }
    put_number(f, 4);
    fclose(f);
    eng_gguf_close(g);
    long n[2];
    runs(run("engine-quantize -q --force %s %s q3_K -i %s", model(), OUT, MATRIX), 0);
    runs(run("engine-quantize -q --force %s %s q3_K -i %s", model(), OTHER, DAT), 0);
    char *one = contents(OUT, &n[0]), *other = contents(OTHER, &n[1]);
    ck_assert_int_eq(n[0], n[1]);
    ck_assert_mem_eq(one, other, (size_t)n[0]);
    free(one);
    free(other);
    ck_assert_int_eq(truncate(DAT, 5000), 0);
    runs(run("engine-quantize -q --force %s %s q3_K -i %s", model(), OTHER, DAT), 1);
    says("it was cut short");
    unlink(DAT);
    unlink(MATRIX);
    clean();
}
END_TEST

/* Of a mixture each expert has a count of its own; a split device (if there is what splits) and one alone see the same. */
START_TEST(importance_of_experts)
{
#ifdef HAVE_META
    static const char *const devices[] = {"cpu", "cpu/2"};
#else
    static const char *const devices[] = {"cpu", "cpu"};
#endif
    static const char *const files[] = {MATRIX, DAT};
    eng_gguf *g[2];
    runs(run("tests/tools/make-model --arch qwen3moe --seed 3 --experts 6 --used 2 %s", OUT), 0);
    for (int i = 0; i < 2; i++) {
        runs(run("engine-generate -m %s -d %s -c 32 --perplexity %s/tests/data/valid.txt --chunks 2 --imatrix-out %s", OUT, devices[i],
                 folder("top_srcdir"), files[i]), 0);
        g[i] = opened(files[i]);
    }
    const eng_gguf_tensor *counts = eng_gguf_tensor_find(g[0], "blk.0.ffn_down_exps.weight.counts");
    ck_assert(counts != NULL && counts->ne[1] == 6);
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += ((const float *)counts->data)[i];
    ck_assert_double_eq(sum, 2 * 2 * 31); /* chunks, experts of each of their tokens but the last */
    ck_assert_uint_eq(eng_gguf_tensor_count(g[0]), eng_gguf_tensor_count(g[1]));
    for (uint32_t i = 0; i < eng_gguf_tensor_count(g[0]); i++) {
        const eng_gguf_tensor *a = eng_gguf_tensor_get(g[0], i), *b = eng_gguf_tensor_find(g[1], a->name);
        ck_assert(b != NULL && a->bytes == b->bytes);
        for (uint64_t k = 0; k < a->bytes / 4; k++) {
            const double x = ((const float *)a->data)[k], y = ((const float *)b->data)[k];
            ck_assert_msg(x - y < 0.01 * x + 1e-6 && y - x < 0.01 * x + 1e-6, "%s[%d]: %g and %g", a->name, (int)k, x, y);
        }
    }
    runs(run("engine-quantize -q --force %s %s q4_K -i %s", OUT, OTHER, MATRIX), 0);
    for (int i = 0; i < 2; i++) {
        eng_gguf_close(g[i]);
        unlink(files[i]);
    }
    clean();
}
END_TEST

/* -- random models --------------------------------------------------------------------- */

START_TEST(random_models)
{
    static const char *const archs[] = {"qwen35", "qwen35moe", "llama", "qwen2", "qwen3", "qwen3moe"};
    char first[65], second[65];

    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        for (int k = 0; k < 2; k++) {
            runs(run("tests/tools/make-model --arch %s --seed 7 %s", archs[i], OUT), 0);
            eng_gguf *g = opened(OUT);
            const eng_gguf_tensor *t = eng_gguf_tensor_get(g, eng_gguf_tensor_count(g) - 1);
            sha256(t->data, t->bytes, k ? second : first);
            eng_gguf_close(g);
        }
        ck_assert_str_eq(first, second);
    }
    runs(run("tests/tools/make-model --heads 3 --kv-heads 2 %s", OUT), 64);
    runs(run("tests/tools/make-model --vocab 10 %s", OUT), 64);
    clean();
}
END_TEST

/* A model in several files becomes the same file as if it were in one. */
START_TEST(several_files)
{
    char parts[3][64], *one, *other;
    long n[2];

    for (int i = 0; i < 3; i++)
        snprintf(parts[i], sizeof parts[i], "test-quantize-%05d-of-00003.gguf", i + 1);
    runs(run("tests/tools/make-model --arch qwen3moe --split 3 %s", OUT), 0);
    runs(run("engine-quantize -q %s %s q8_0", parts[0], OTHER), 0);
    one = contents(OTHER, &n[0]);
    runs(run("engine-quantize -q --force %s %s q8_0", parts[1], OTHER), 0);
    other = contents(OTHER, &n[1]);
    ck_assert_int_eq(n[0], n[1]);
    ck_assert_mem_eq(one, other, (size_t)n[0]);
    free(other);
    runs(run("tests/tools/make-model --arch qwen3moe %s", OUT), 0);
    runs(run("engine-quantize -q --force %s %s q8_0", OUT, OTHER), 0);
    other = contents(OTHER, &n[1]);
    ck_assert_int_eq(n[0], n[1]);
    ck_assert_mem_eq(one, other, (size_t)n[0]);
    free(one);
    free(other);
    for (int i = 0; i < 3; i++)
        unlink(parts[i]);
    clean();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantize");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(all, hashes_of_nothing);
    tcase_add_test(all, blocks);
    tcase_add_test(all, patterns);
    tcase_add_test(all, there_and_back);
    tcase_add_test(all, what_stays);
    tcase_add_test(all, fallbacks);
    tcase_add_test(all, mixes);
    tcase_add_test(all, usage);
    tcase_add_test(all, failures);
    tcase_add_test(all, onto_itself);
    tcase_add_test(all, onto_parts);
    tcase_add_test(all, onto_another);
    tcase_add_loop_test(all, interrupts, 0, 3);
    tcase_add_test(all, plain_types);
    tcase_add_test(all, importance);
    tcase_add_test(all, no_importance);
    tcase_add_test(all, older_importance);
    tcase_add_test(all, importance_of_experts);
    tcase_add_test(all, random_models);
    tcase_add_test(all, several_files);
    tcase_set_timeout(all, 600);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
