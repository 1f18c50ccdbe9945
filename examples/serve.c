/*
 * Answers several prompts at once: a line each on standard input, answers on standard output as they are done.
 *
 *     cc serve.c $(pkg-config --cflags --libs libengine-lm) -o serve
 *     ./serve model.gguf opencl:0 8 100 "You answer in one sentence. " < prompts
 *
 * All that runs shares one batch a round: prompts in parts, and the next token of each answer.  What prompts begin with
 * is run once: an answer starts with what is known of its prompt, from answers that run or have ended.
 */
#define _GNU_SOURCE /* asprintf */
#include <engine/lm.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART 64     /* most tokens of a prompt in one round, so that the others do not wait long */
#define LONGEST 512 /* tokens of a prompt                                            */
#define MOST 256    /* answers at once                                               */
#define KEPT (64 << 20) /* bytes for what ended answers leave                         */

typedef struct answer {
    long number;       /* of the line; 0: the place is free                       */
    int32_t *tokens;   /* to be run: the prompt, then one at a time                */
    size_t n, done;
    int left, asked;   /* tokens that may still come; is it in the batch?          */
    uint32_t at;       /* of its last token in the batch, if that ends `tokens`    */
    eng_lm_sampler *sampler;
    eng_lm_stream *stream;
    char *text;
    size_t length;
} answer;

/* Ends the program if a call has failed: the library says why and never prints. */
static void check(int status)
{
    if (status < 0) {
        fprintf(stderr, "serve: %s\n", eng_last_error());
        exit(EXIT_FAILURE);
    }
}

/* What an answer says so far; token -1: the rest of it. */
static void add(answer *a, int32_t token)
{
    const char *more;
    size_t n;
    check(eng_lm_stream_next(a->stream, token, &more, &n));
    a->text = realloc(a->text, a->length + n + 1);
    if (!a->text)
        exit((fputs("serve: out of memory\n", stderr), EXIT_FAILURE));
    memcpy(a->text + a->length, more, n);
    a->length += n;
}

/* An answer begins where what is known of its prompt ends. */
static void begin(answer *a, uint32_t sequence, eng_lm_context *context, const eng_lm_model *model, long number,
                  const char *beginning, const char *prompt, int wanted)
{
    eng_lm_sampler_params params;
    char *text;
    if (asprintf(&text, "%s%s", beginning, prompt) < 0)
        exit((fputs("serve: out of memory\n", stderr), EXIT_FAILURE));
    *a = (answer){.number = number, .left = wanted};
    check(eng_lm_tokenize(model, text, strlen(text), ENG_LM_ADD_SPECIAL, &a->tokens, &a->n));
    free(text);
    if (a->n == 0 || a->n > LONGEST) {
        printf("%ld\tthe prompt has %zu tokens, 1 to %d are possible\n", number, a->n, LONGEST);
        eng_lm_free(a->tokens);
        a->number = 0;
        return;
    }
    eng_lm_sampler_defaults(&params);
    params.temperature = 0; /* the most likely token: the same text every time */
    check(eng_lm_sampler_create(model, &params, &a->sampler));
    check(eng_lm_stream_create(model, ENG_LM_STREAM_GOES_ON, &a->stream));
    check(eng_lm_sequence_reuse(context, sequence, a->tokens, a->n, &a->done));
}

static void end(answer *a, uint32_t sequence, eng_lm_context *context)
{
    add(a, -1);
    for (char *c = a->text; (c = memchr(c, '\n', a->length - (size_t)(c - a->text))) != NULL;)
        *c = ' ';
    printf("%ld\t%.*s\n", a->number, (int)a->length, a->text);
    fflush(stdout);
    eng_lm_free(a->tokens);
    eng_lm_sampler_destroy(a->sampler);
    eng_lm_stream_destroy(a->stream);
    free(a->text);
    check(eng_lm_sequence_remove(context, sequence)); /* what it held may be the beginning of another */
    a->number = 0;
}

/* One round: a part of what each has to run, in one batch; whoever has run all of it gets its next token. */
static void run(answer *answers, uint32_t n_answers, eng_lm_context *context, const eng_lm_model *model)
{
    static int32_t tokens[MOST * PART], sequences[MOST * PART];
    static uint8_t logits[MOST * PART];
    eng_lm_batch b = {.size = sizeof b, .tokens = tokens, .sequences = sequences, .logits = logits};
    memset(logits, 0, sizeof logits);
    for (uint32_t s = 0; s < n_answers; s++) {
        answer *a = &answers[s];
        for (int i = 0; a->number && i < PART && a->done < a->n; i++, b.n_tokens++) {
            tokens[b.n_tokens] = a->tokens[a->done++];
            sequences[b.n_tokens] = (int32_t)s;
            a->at = b.n_tokens;
        }
        a->asked = a->number && a->done == a->n;
        if (a->asked)
            logits[a->at] = 1;
    }
    check(eng_lm_decode(context, &b));
    for (uint32_t s = 0; s < n_answers; s++) {
        answer *a = &answers[s];
        int32_t token;
        if (!a->asked)
            continue;
        const int32_t *best;
        const float *of_them;
        /* found on the device: not all of them travel */
        uint32_t n = eng_lm_top(context, a->at, &best, &of_them, NULL);
        check(eng_lm_sampler_choose_top(a->sampler, best, of_them, n, &token));
        eng_lm_sampler_accept(a->sampler, token);
        if (!eng_lm_is_end(model, token))
            add(a, token);
        if (eng_lm_is_end(model, token) || --a->left == 0) {
            end(a, s, context);
            continue;
        }
        a->tokens[0] = token;
        a->n = 1, a->done = 0;
    }
}

/* A line, if one is there; while answers are being written nobody waits for it.  0: the input has ended. */
static int read_line(char **line, size_t *room, int wait, int *there)
{
    *there = wait || poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, 0) > 0;
    if (!*there)
        return 1;
    ssize_t n = getline(line, room, stdin);
    if (n > 0)
        (*line)[strcspn(*line, "\n")] = 0;
    return *there = n > 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fprintf(stderr, "usage: %s MODEL DEVICE [ANSWERS [TOKENS [BEGINNING]]]\n", argv[0]), EXIT_FAILURE;
    uint32_t n_answers = argc > 3 ? (uint32_t)atoi(argv[3]) : 4;
    int wanted = argc > 4 ? atoi(argv[4]) : 50;
    const char *beginning = argc > 5 ? argv[5] : "";
    if (n_answers < 1 || n_answers > MOST || wanted < 1 || wanted > 4096)
        return fprintf(stderr, "serve: 1 to 256 answers of 1 to 4096 tokens are possible\n"), EXIT_FAILURE;
    eng_context *engine;
    eng_device *device;
    eng_lm_model *model;
    eng_lm_context *context;
    eng_lm_context_params params;
    check(eng_context_create(NULL, &engine));
    check(eng_device_open(engine, argv[2], &device));
    check(eng_lm_model_open(engine, device, argv[1], NULL, &model));
    eng_lm_context_defaults(&params);
    params.n_sequences = n_answers;
    params.n_cells = n_answers * (LONGEST + (uint32_t)wanted); /* nobody waits for cells */
    params.n_top = 40;
    params.kept_bytes = KEPT, params.kept_stride = 16;
    check(eng_lm_context_create(model, &params, &context));

    static answer answers[MOST];
    char *line = NULL;
    size_t room = 0;
    long number = 0, more = 1;
    setvbuf(stdin, NULL, _IONBF, 0); /* or poll would not see what has been read ahead */
    for (;;) {
        uint32_t active = 0;
        for (uint32_t s = 0; s < n_answers; s++)
            active += answers[s].number != 0;
        for (uint32_t s = 0; s < n_answers && more; s++) {
            int there = 0;
            if (!answers[s].number)
                more = read_line(&line, &room, active == 0, &there);
            if (there)
                begin(&answers[s], s, context, model, ++number, beginning, line, wanted);
            active += there && answers[s].number;
        }
        if (active > 0)
            run(answers, n_answers, context, model);
        else if (!more)
            break;
    }
    eng_lm_stats told = {.size = sizeof told};
    check(eng_lm_context_get_stats(context, &told));
    fprintf(stderr, "serve: %.0f tokens run, %.0f known from before\n", (double)told.tokens,
            (double)told.tokens_reused);
    free(line);
    eng_lm_context_destroy(context);
    eng_lm_model_close(model);
    eng_device_close(device);
    eng_context_destroy(engine);
    return 0;
}
