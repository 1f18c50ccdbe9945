/* engine-generate on a terminal: keys are typed, and the screen is looked at. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "screen.h"

static char program[4096], model[4096], saved[64], *other; /* other: attention alone, random */

/* A conversation of greedy answers of 20 tokens, and more options. */
static bool begin(screen *s, const char *file, const char *a, const char *b, const char *c)
{
    char *argv[24] =
        {program,           "-m",     (char *)file,     "-d",   "cpu",   "-t", "1", "--temp", "0", "-n", "20",
         "--chat-template", "chatml", "--show-timings", "-sys", "Short."};
    int n = 16;
    const char *more[] = {a, b, c};
    for (int i = 0; i < 3 && more[i]; i++)
        argv[n++] = (char *)more[i];
    return screen_open(s, argv);
}

/* Types a line; the answer's figures, once it is there and the next line is asked for. */
static bool turn(screen *s, const char *keys, int *prompt, int *known)
{
    screen_keys(s, keys);
    screen_keys(s, "\r");
    if (!screen_wait(s, "(prompt "))
        return false;
    bool read = sscanf(s->raw + s->seen, "%d tokens, %d of them known", prompt, known) == 2;
    return screen_wait(s, "> ") && read;
}

static bool ended(screen *s, int code)
{
    int status = screen_close(s);
    bool good = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == code;
    if (!good)
        printf("# it ended with status %x\n", (unsigned)status);
    return good;
}

/* Is there such a line on the screen? */
static bool shows(screen *s, const char *line)
{
    for (int r = 0; r < SCREEN_ROWS; r++)
        if (strcmp(screen_line(s, r), line) == 0)
            return true;
    return false;
}

/* The last line that begins so; NULL: none does. */
static const char *last_line(screen *s, const char *beginning)
{
    for (int r = SCREEN_ROWS - 1; r >= 0; r--)
        if (strncmp(screen_line(s, r), beginning, strlen(beginning)) == 0)
            return screen_line(s, r);
    return NULL;
}

static void test_turns(void)
{
    screen s;
    int prompt, known, first, second;
    tap_check(begin(&s, model, NULL, NULL, NULL) && screen_wait(&s, "/help") && screen_wait(&s, "> "),
              "a terminal and no prompt: a conversation");
    bool good = turn(&s, "bug: n.", &first, &known);
    tap_check(good && known == 0, "a question is answered");
    tap_check(shows(&s, "[from the movie Star Wars] A person who has been rep"),
              "with the text that greedy choices give");
    good = turn(&s, "hack: v.", &second, &known);
    tap_check(good && known == first + 19,
              "the second is run behind what is held: %d of %d tokens known", known, second);
    tap_check(shows(&s, "[from the older → publication of 'con"), "its answer has characters of several bytes");
    screen_keys(&s, "/undo\r");
    tap_check(screen_wait(&s, "is taken back") && screen_wait(&s, "> "), "/undo");
    good = turn(&s, "hack: v.", &prompt, &known);
    tap_check(good && prompt == second && known == first + 19,
              "the question again: %d of %d known", known, prompt);
    char command[128];
    snprintf(command, sizeof command, "/save %s\r", saved);
    screen_keys(&s, command);
    tap_check(screen_wait(&s, "(saved") && screen_wait(&s, "> "), "/save");
    good = turn(&s, "worm: n.", &prompt, &known);
    tap_check(good && known > second, "a third question: %d of %d known", known, prompt);
    int third = prompt, third_known = known;
    good = turn(&s, "/regen", &prompt, &known);
    tap_check(good && prompt == third && known >= second, "/regen: %d of %d known", known, prompt);
    screen_keys(&s, "/clear\r");
    tap_check(screen_wait(&s, "all is forgotten but the system prompt") && screen_wait(&s, "> "), "/clear");
    tap_check(turn(&s, "bug: n.", &prompt, &known) && prompt == first && known == 0, "nothing is known then");
    screen_keys(&s, "/devices\r");
    tap_check(screen_wait(&s, "did you mean /device?") && screen_wait(&s, "> "), "a command that there is not");
    screen_keys(&s, "/device\r");
    tap_check(screen_wait(&s, "cpu, ") && screen_wait(&s, "weights ") && screen_wait(&s, "context holds") &&
                  screen_wait(&s, "> "),
              "/device");
    screen_keys(&s, "/quit\r");
    tap_check(ended(&s, 0), "/quit ends it");

    begin(&s, model, NULL, NULL, NULL);
    screen_wait(&s, "> ");
    snprintf(command, sizeof command, "/load %s\r", saved);
    screen_keys(&s, command);
    tap_check(screen_wait(&s, "(5 messages, of which the model holds ") && atoi(s.raw + s.seen) > second &&
                  screen_wait(&s, "> "),
              "/load in another process");
    good = turn(&s, "worm: n.", &prompt, &known);
    tap_check(good && prompt == third && known >= third_known,
              "goes on where it was: %d of %d known", known, prompt);
    screen_keys(&s, "/system Long.\r");
    tap_check(screen_wait(&s, "what was said stays") && screen_wait(&s, "> ") && turn(&s, "/regen", &prompt, &known) &&
                  known == 0 && prompt >= third - 4,
              "/system: all is run with another system prompt");
    screen_keys(&s, "\004");
    tap_check(ended(&s, 0), "the end of the input ends it");
}

static void test_interrupts(void)
{
    screen s;
    begin(&s, model, "--ignore-eos", "-n", "-1");
    screen_wait(&s, "> ");
    screen_keys(&s, "bug: n.\r");
    tap_check(screen_wait(&s, "[from the"), "an answer without end");
    screen_keys(&s, "\003");
    tap_check(screen_wait(&s, "(interrupted)") && screen_wait(&s, "> "), "Ctrl-C stops it, and not the program");
    screen_keys(&s, "hack: v.\r");
    screen_wait(&s, "[from the older");
    screen_keys(&s, "\003");
    tap_check(screen_wait(&s, "(interrupted)") && screen_wait(&s, "> "), "is answered, and stopped");
    screen_keys(&s, "\003");
    tap_check(screen_wait(&s, "again, or /quit, ends") && screen_wait(&s, "> "),
              "Ctrl-C where a line is asked for says how to end");
    screen_keys(&s, "\003");
    int status = screen_close(&s);
    tap_check(status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT, "and a second one does");
}

static void test_keys(void)
{
    screen s;
    int prompt, known, first;
    begin(&s, model, NULL, NULL, NULL);
    screen_wait(&s, "> ");
    turn(&s, "größe", &first, &known);
    tap_check(shows(&s, "> größe"), "characters of several bytes are typed");
    screen_keys(&s, "a\\\r");
    bool good = screen_wait(&s, ". ") && turn(&s, "b", &prompt, &known);
    tap_check(good && shows(&s, "> a\\") && shows(&s, ". b"), "a backslash at the end: the line goes on");
#ifdef HAVE_LIBEDIT
    screen_keys(&s, "größe\177\177");
    screen_keys(&s, "\033[D\033[D\033[DX");
    screen_keys(&s, "\005");
    screen_wait(&s, "X");
    tap_check(strcmp(screen_here(&s), "> Xgrö") == 0, "keys edit by characters: %s", screen_here(&s));
    screen_resize(&s, 30, 60);
    screen_keys(&s, "!");
    screen_wait(&s, "!");
    tap_check(strstr(screen_here(&s), "Xgrö!") != NULL, "another size of the terminal loses nothing: %s",
              screen_here(&s));
    screen_keys(&s, "\003");
    screen_wait(&s, "> ");
    screen_keys(&s, "\033[A");
    screen_wait(&s, "b");
    tap_check(strcmp(screen_here(&s), "> b") == 0, "the key up gives the line before: %s", screen_here(&s));
    screen_keys(&s, "\003");
    screen_wait(&s, "> ");
    screen_keys(&s, "\033[200~one\rtwo\033[201~");
    screen_wait(&s, "two");
    tap_check(strcmp(screen_here(&s), "> one⏎two") == 0, "pasted lines stay together: %s", screen_here(&s));
    turn(&s, "", &prompt, &known);
#endif
    tap_check(turn(&s, "cut \303", &prompt, &known),
              "a character that is cut off is none, and the conversation goes on");
    screen_keys(&s, "/quit\r");
    tap_check(ended(&s, 0), "it ends");
}

static void test_colors(void)
{
    static const struct {
        const char *option, *no_color;
        bool colors;
    } cases[] = {{"--color=auto", NULL, true},
                 {"--color=off", NULL, false},
                 {"--color=auto", "1", false},
                 {"--color=on", "1", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        screen s;
        if (cases[i].no_color)
            setenv("NO_COLOR", cases[i].no_color, 1);
        else
            unsetenv("NO_COLOR");
        begin(&s, model, cases[i].option, NULL, NULL);
        screen_wait(&s, ">");
        screen_keys(&s, "/quit\r");
        screen_wait(&s, "quit");
        tap_check((strstr(s.raw, "\033[1;32m") != NULL) == cases[i].colors, "%s%s: %s", cases[i].option,
                  cases[i].no_color ? " and NO_COLOR" : "", cases[i].colors ? "colours" : "no colours");
        ended(&s, 0);
    }
    setenv("NO_COLOR", "1", 1);
}

/* A context that is soon full, of a model that can only drop tokens of its caches. */
static void test_full(void)
{
    screen s;
    int prompt, known, forgotten = 0;
    bool good = begin(&s, other, "-c", "200", "--ignore-eos") && screen_wait(&s, "> ");
    for (int i = 0; i < 6 && good; i++)
        good = turn(&s, "and then?", &prompt, &known);
    for (const char *at = s.raw; good && (at = strstr(at, "are forgotten)")) != NULL; at++)
        forgotten++;
    tap_check(good && forgotten > 0, "a context that is full forgets the oldest tokens, %d times", forgotten);
    tap_check(good && prompt - known < 100, "and nothing is run again for it: %d of %d known", known, prompt);
    screen_keys(&s, "/undo\r");
    good = screen_wait(&s, "is taken back") && screen_wait(&s, "> ") && turn(&s, "and then?", &prompt, &known);
    tap_check(good, "/undo then: %d of %d known", known, prompt);
    screen_keys(&s, "/quit\r");
    tap_check(ended(&s, 0), "it ends");
}

static void test_refusals(void)
{
    screen s;
    char *none[] = {program, "-m", model, "-d", "cpu", NULL};
    screen_open(&s, none);
    tap_check(screen_wait(&s, "no chat template") && screen_wait(&s, "--chat-template NAME") && ended(&s, 1),
              "a model without a template is refused, and how to give one is said");
    char *wrong[] = {program, "-m", model, "-d", "cpu", "--chat-template", "chatlm", NULL};
    screen_open(&s, wrong);
    tap_check(screen_wait(&s, "neither Jinja nor one of the names") && ended(&s, 1),
              "so is a template that nobody knows");
    char *never[] = {program, "-m", model, "-no-cnv", NULL};
    screen_open(&s, never);
    tap_check(screen_wait(&s, "a text is needed") && ended(&s, 64), "-no-cnv: no conversation");
    char *once[] = {program,           "-m",     model,  "-d",  "cpu", "--temp",  "0", "-n", "5",
                    "--chat-template", "chatml", "-cnv", "-st", "-p",  "bug: n.", NULL};
    screen_open(&s, once);
    tap_check(screen_wait(&s, "[from the") && ended(&s, 0), "-p is the first question, -st ends after its answer");
}

/* Drafts change nothing but the speed, also where a turn is taken back. */
static void test_drafts(void)
{
    screen s;
    int prompt, known, first, second;
    bool good = begin(&s, model, "--draft", "4", NULL) && screen_wait(&s, "> ") && turn(&s, "bug: n.", &first, &known);
    tap_check(good && shows(&s, "[from the movie Star Wars] A person who has been rep"),
              "drafts: the answer is that without");
    good = turn(&s, "hack: v.", &second, &known) && shows(&s, "[from the older → publication of 'con");
    tap_check(good && known > 0, "and the second one: %d of %d known", known, second);
    screen_keys(&s, "/undo\r");
    good = screen_wait(&s, "is taken back") && screen_wait(&s, "> ") && turn(&s, "hack: v.", &prompt, &known);
    tap_check(good && prompt == second && known > 0, "/undo, and the question again: %d of %d known", known, prompt);
    screen_keys(&s, "/quit\r");
    tap_check(ended(&s, 0), "it ends");
}

/* Each answer follows the grammar from its beginning. */
static void test_grammar(const char *draft)
{
    screen s;
    int prompt, known;
    bool good = begin(&s, model, "--grammar", "root ::= \"[fr\" [a-z ]{4,9} \".\"", draft) && screen_wait(&s, "> ");
    for (int i = 0; i < 3 && good; i++) {
        good = turn(&s, i == 1 ? "/regen" : "bug: n.", &prompt, &known) && last_line(&s, "[fr") &&
               strchr(last_line(&s, "[fr"), '.');
        tap_check(good, "under a grammar%s%s: '%s'", draft ? " and with drafts" : "", i == 1 ? ", /regen" : "",
                  good ? last_line(&s, "[fr") : "");
        if (i == 1)
            screen_keys(&s, "/undo\r"), good = good && screen_wait(&s, "is taken back") && screen_wait(&s, "> ");
    }
    screen_keys(&s, "/quit\r");
    tap_check(ended(&s, 0), "it ends");
}

/* Without -d. */
static void test_default_device(void)
{
    screen s;
    int prompt, known;
    char *argv[] =
        {program,          "-m",   model,    "-t", "1", "--temp", "0", "-n", "20", "--chat-template", "chatml",
         "--show-timings", "-sys", "Short.", NULL};
    bool good = screen_open(&s, argv) && screen_wait(&s, "> ") && turn(&s, "bug: n.", &prompt, &known);
    tap_check(good && shows(&s, "[from the movie Star Wars] A person who has been rep"),
              "no -d: an answer on the device that there is");
    screen_keys(&s, "/device\r");
    tap_check(screen_wait(&s, "cpu, ") && screen_wait(&s, "> "), "/device names it");
    screen_keys(&s, "/quit\r");
    tap_check(ended(&s, 0), "it ends");
}

/* The model that bootstrap.sh chat fetches, with the template that its file has. */
static void test_real(void)
{
    const char *models = getenv("MODELS"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char file[4200];
    snprintf(file, sizeof file, "%s%s/smollm2-135m-instruct.gguf", models ? models : cache ? cache : home ? home : "",
             models ? "" : cache ? "/libengine/models" : "/.cache/libengine/models");
    if (access(file, R_OK)) {
        tap_check(true, "a real model # SKIP ./bootstrap.sh chat has not fetched it");
        return;
    }
    screen s;
    int prompt = 0, known = 0, first = 0;
    char *argv[] = {program, "-m", file, "-d", "cpu", "--temp", "0", "-n", "12", "--show-timings", NULL};
    bool good = screen_open(&s, argv) && screen_wait(&s, "> ") &&
                turn(&s, "What is the capital of France?", &first, &known);
    tap_check(good && shows(&s, "The capital of France is Paris."), "SmolLM2 answers");
    good = turn(&s, "And of Spain?", &prompt, &known);
    tap_check(good && shows(&s, "The capital of Spain is Madrid.") && known >= first,
              "what was said is not run again: %d of %d known", known, prompt);
    screen_keys(&s, "\004");
    tap_check(ended(&s, 0), "it ends");
}

int main(void)
{
    const char *source = getenv("top_srcdir"), *build = getenv("top_builddir");
    char made[4096], command[8300];
    snprintf(program, sizeof program, "%s/engine-generate", build ? build : ".");
    snprintf(model, sizeof model, "%s/tests/data/tiny-hybrid-f16.gguf", source ? source : ".");
    snprintf(saved, sizeof saved, "/tmp/test-chat-%ld.json", (long)getpid());
    snprintf(made, sizeof made, "/tmp/test-chat-%ld.gguf", (long)getpid());
    snprintf(command, sizeof command,
             "'%s/tests/tools/make-model' --arch llama --seed 3 --context 4096 '%s' > /dev/null", build ? build : ".",
             made);
    if (system(command)) {
        printf("Bail out! %s\n", command);
        return 99;
    }
    other = made;
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("ENGINE_PLUGINS", "cpu", 1);
    screen s;
    char *nothing[] = {"/bin/true", NULL};
    if (!screen_open(&s, nothing)) {
        printf("1..0 # SKIP no pseudo-terminals here\n");
        return 0;
    }
    screen_close(&s);
    test_turns();
    test_interrupts();
    test_keys();
    test_colors();
    test_full();
    test_drafts();
    test_grammar(NULL);
    test_grammar("--draft=4");
    test_default_device();
    test_refusals();
    test_real();
    remove(made);
    remove(saved);
    strcat(saved, ".state");
    remove(saved);
    return tap_end(NULL);
}
