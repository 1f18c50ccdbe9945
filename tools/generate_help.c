/* engine-generate: --help, whole or a topic. */
#include "config.h"

#include <limits.h>
#include <string.h>

#include "generate_foreign.h"
#include "generate_help.h"
#include "libengine/util/util.h"

static const char begin[] =
    "Usage: engine-generate -m FILE [-p TEXT | -f FILE] [OPTION]...\n"
    "Continues a text with a language model from a GGUF file; without a text, on a terminal, is a conversation.\n";

/* Each fits a screen of 24 lines. */
static const struct topic {
    const char *name, *title, *text; /* NULL: made from the table of llama.cpp's options */
} topics[] = {
    {"text", "The model, what it continues and how far",
    "  -m, --model FILE             the model\n"
    "  -p, --prompt TEXT            the text to continue\n"
    "  -f, --file FILE              the same from a file (- is standard input)\n"
    "  -e, --escape                 \\n, \\t, \\r, \\\\, \\\" and \\' in the text of -p stand for what they do in C\n"
    "  -n, --n-predict N            most tokens to generate, 128 if not given; -1: until the text ends\n"
    "      --ignore-eos             go on after tokens that end a text\n"
    "      --save-state FILE        save the text afterwards, with all that the model holds of it\n"
    "      --load-state FILE        begin with a text that was saved; -p and -f go on from there\n"
    "      --prompt-cache FILE      both; the file need not be there yet\n"
    "  -c, --ctx-size CTX           tokens that the caches hold; of --perplexity the length of a chunk (512)\n"
    "      --context-shift          when they are full, drop the oldest tokens; the others stay at their positions\n"
    "      --keep N                 but for the first N, 4 if not given\n"
    "  -b, --batch-size BATCH       most tokens of one pass, 512 if not given\n"},
    {"chat", "Conversations",
    "  -cnv, --conversation         a conversation, with -p or -f as the first question; without a text, on a terminal,\n"
    "                               it is one anyway; from a pipe: --json-lines\n"
    "  -no-cnv, --no-conversation   none, though there is nothing else to do\n"
    "      --json-lines             a request a line of standard input, an answer a line: JSON objects\n"
    "  -sys, --system-prompt TEXT   what the model is told before anything is said\n"
    "  -sysf, --system-prompt-file FILE\n"
    "      --chat-template TEMPLATE instead of the model's own: a name (chatml, llama3, llama2, gemma, mistral, zephyr,\n"
    "                               phi3, vicuna) or Jinja\n"
    "      --chat-template-file FILE\n"
    "      --jinja                  always so\n"
    "  -st, --single-turn           end after one answer\n"
    "      --simple-io              lines as they come, without keys that edit; from a pipe, too\n"
    "  -co, --color[=WHEN]          auto (if not given): on a terminal, if NO_COLOR is not set; on; off\n"
    "      --show-timings           tell how fast each answer is\n"
    "      --no-context-shift       end an answer where the context is full; a conversation drops old tokens otherwise\n"
    "                               (--help=text), those of the system prompt excepted\n"
    "  -cram, --cache-ram MIB       memory of the device for beginnings of texts that were run, and states of recurrent\n"
    "                               models to go back to, 256 if not given; 0: none\n"},
    {"sampling", "Which token comes next",
    "      --temp T                 temperature, 0.8 if not given; 0: always the most likely token\n"
    "      --top-k K                choose among the K most likely tokens, 40 if not given; 0: all\n"
    "      --top-p P                and among the fewest of probability P, 0.95 if not given; 1: all\n"
    "      --min-p P                and those of P times the best one's probability, 0.05 if not given; 0: all\n"
    "      --typical P              the fewest of probability P that surprise as much as is usual, 1 if not given: all\n"
    "      --top-n-sigma N          logits at most N deviations below the largest, 0 if not given: all\n"
    "      --xtc-probability P      how often top choices are left out, 0 if not given: never\n"
    "      --xtc-threshold P        which: all but the last of those of at least this probability, 0.1 if not given\n"
    "      --dynatemp-range R       temperature from T - R to T + R by the entropy, 0 if not given: off\n"
    "      --dynatemp-exp E         the entropy's exponent, 1 if not given\n"
    "      --mirostat N             1, 2: in the place of top-k and the like, mirostat 1.0 or 2.0; 0 if not given: off\n"
    "      --mirostat-ent T         the surprise of a token that it aims at, in bits, 5 if not given\n"
    "      --mirostat-lr R          how fast it learns, 0.1 if not given\n"
    "  -l, --logit-bias BIAS        TOKEN+B or TOKEN-B changes the logit of a token by B (-inf: never); repeatable\n"
    "      --samplers LIST          these alone, in this order: penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;\n"
    "                               temperature if not given\n"
    "  -s, --seed S                 of the random numbers; -1, if not given: another one every time\n"},
    {"repetition", "Against repetition",
    "      --repeat-penalty R       divide the logits of tokens among the last by R, 1 if not given: off\n"
    "      --frequency-penalty F    take F off for each time that they occur, 0 if not given\n"
    "      --presence-penalty P     take P off if they occur, 0 if not given\n"
    "      --repeat-last-n N        how many tokens are the last, 64 if not given; 0: none\n"
    "      --dry-multiplier M       take M * B^(n - L) off a token that would go on with a repetition of n tokens,\n"
    "                               0 if not given: off\n"
    "      --dry-base B             B, 1.75 if not given\n"
    "      --dry-allowed-length L   L, and of at least how many, 2 if not given\n"
    "      --dry-penalty-last-n N   among the last N tokens; 0: none; -1, if not given: all\n"
    "      --dry-sequence-breaker TEXT\n"
    "                               no repetition reaches over TEXT; newline, colon, quote and asterisk if not given;\n"
    "                               none: nothing breaks it; repeatable\n"},
    {"grammar", "Texts of a given form, and where they stop",
    "      --grammar TEXT           the text must follow a grammar (GBNF)\n"
    "      --grammar-file FILE      the same from a file (- is standard input)\n"
    "  -j, --json-schema SCHEMA     the text must be JSON as a schema says\n"
    "  -jf, --json-schema-file FILE\n"
    "                               the same from a file\n"
    "  -r, --reverse-prompt TEXT    stop when this text was generated; repeatable\n"
    "      --n-probs N              with --json: of each token its probability, and the N most likely ones\n"
    "      --verbose-prompt         show the tokens of the prompt on standard error\n"},
    {"drafting", "Tokens guessed ahead and run in one pass: another speed, the same text",
    "      --draft N                guess at most N tokens, fewer or none where that is faster; 0: none; 4 if only other\n"
    "                               options of these are given\n"
    "      --draft-max N            the same\n"
    "      --draft-from FROM        who guesses: ngram (if not given): what followed the last tokens of the text where\n"
    "                               they stood before; mtp: the model's own block for it; or the\n"
    "                               GGUF file of a second model\n"
    "  -md, --model-draft FILE      the same file\n"
    "      --draft-min N            leave guesses of fewer tokens alone, 1 if not given\n"
    "      --draft-p-min P          of guesses by a model: end before a token of less probability, 0 if not given\n"},
    {"devices", "Where it runs, and what lies where",
    "  -d, --device DEVICE          where it runs: cpu, opencl:0, opencl:0/2 (two halves),\n"
    "                               cpu+opencl:0@3:1 (two devices, three quarters and one); see engine-probe;\n"
    "                               if not given, the first accelerator, or all if the model is too large for it\n"
    "  -t, --threads THREADS        of the cpu plugin\n"
    "  -nkvo, --no-kv-offload       keep K and V caches on the cpu device\n"
    "  -ot, --override-tensor PATTERN=DEVICE\n"
    "                               keep tensors whose name has the pattern (a regular expression, PCRE2) on a\n"
    "                               device; weights as in the file, cache_k.N, cache_v.N, cache_i.N, state.N, conv.N; repeatable\n"
    "  -sm, --split-mode MODE       tensor (if not given): all devices work on every layer; layer: whole layers\n"
    "                               each; none: only the first device, whole\n"
    "      --expert-parallel        deal whole experts of a mixture out, instead of a part of each to every device\n"
    "  -ts, --tensor-split A,B,...  shares of the devices, as @A:B in -d\n"
    "      --fit[=MIB]              choose shares, and tensors to keep on the cpu device, so that all fits the free\n"
    "                               memory; leave MIB of each device alone (256, or 5 % of it if that is more)\n"},
    {"memory", "Types and layouts of weights and caches",
    "  -ctk, --cache-type-k TYPE    of cached K: f32, f16 (if not given), bf16, q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl\n"
    "  -ctv, --cache-type-v TYPE    of cached V: the same\n"
    "      --precision P            exact (if not given), or fast: devices may round operands where it gains speed\n"
    "      --layout L               of the weights: auto (if not given); file: as in the file, in its own pages if a\n"
    "                               device shares the host's memory; packed: as the device's kernels like\n"
    "      --no-mmap                copy the weights: the file may change afterwards\n"
    "      --rotate-kv MODE         rotate K and V in the caches: auto (if not given): of block types, on, off\n"},
    {"measure", "Measuring, explaining, reports",
    "      --perplexity FILE        measure the cross entropy of a text instead of generating\n"
    "      --perplexity-protocol P  what of a chunk is counted: all (if not given) but its first token; llama: the\n"
    "                               second half, as llama.cpp's llama-perplexity does\n"
    "      --chunks N               only of its first N chunks\n"
    "      --imatrix-out FILE       write what the text makes of each column of the weights meanwhile, for\n"
    "                               engine-quantize --imatrix\n"
    "      --explain[=FORMAT]       say what was placed where and what is exchanged: text (if not given), json or\n"
    "                               dot for graphviz; without a text nothing else is done\n"
    "      --profile                after the text, what each kernel took in a pass, by events of the device (opencl)\n"
    "      --compile                generate nothing: compile what passes of a text (-p, -f, or some of 64 tokens) and of a\n"
    "                               token after it run by; the next start finds it in the driver's cache (opencl)\n"
    "      --compilers N            processes that compile beside this one, the first time that a model runs on\n"
    "                               processors by OpenCL: cores less one, at most 3, if neither it nor ENGINE_COMPILERS is given; 0: none\n"
    "      --verbose                tell what of the model's file nobody reads: keys, blocks that draft tokens\n"
    "      --pass N                 of passes of N tokens, not of 1 (goes with --explain and --profile)\n"
    "      --json                   print one JSON object instead of text and table\n"},
    {"llama", "Options of llama.cpp", NULL},
};
#define N_TOPICS (sizeof topics / sizeof *topics)

static const char end[] =
    "\n"
    "  -h, --help[=TOPIC]           all of this, or one screen: text, chat, sampling, repetition, grammar,\n"
    "                               drafting, devices, memory, measure, llama\n"
    "      --version\n"
    "\n"
    "Options of llama.cpp that mean the same are taken (-ngl, -fa, -cmoe, ...): --help=llama.\n"
    "The text goes to standard output, the table of devices and speeds to standard error.\n"
    "Exit code: 0; 1 if something failed; 64 for a wrong command line.\n";

static void print_topic(const struct topic *t)
{
    printf("\n%s:\n", t->title);
    if (t->text)
        fputs(t->text, stdout);
    else
        options_foreign_help();
}

static int no_topic(const char *name)
{
    eu_text list = {0};
    unsigned best = UINT_MAX;
    const char *near = NULL;
    for (size_t i = 0; i < N_TOPICS; i++) {
        eu_text_format(&list, "%s%s", i ? ", " : "", topics[i].name);
        if (eu_nearer(name, topics[i].name, &best))
            near = topics[i].name;
    }
    fprintf(stderr, "engine-generate: --help %s: there is no such topic%s%s%s; there are %s\n", name,
            near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", eu_text_get(&list));
    eu_text_free(&list);
    return EXIT_USAGE;
}

int help(const char *topic)
{
    for (size_t i = 0; topic && i < N_TOPICS; i++)
        if (strcmp(topic, topics[i].name) == 0) {
            fputs(begin, stdout);
            print_topic(&topics[i]);
            return 0;
        }
    if (topic)
        return no_topic(topic);
    fputs(begin, stdout);
    for (size_t i = 0; i < N_TOPICS; i++)
        if (topics[i].text)
            print_topic(&topics[i]);
    fputs(end, stdout);
    return 0;
}
