/* C and OpenCL C as tokens, the functions in them, and the faults that can be planted there. */
#ifndef TESTS_MUTANTS_SCAN_H
#define TESTS_MUTANTS_SCAN_H

#include <stdbool.h>
#include <stddef.h>

typedef enum token_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_SIGN } token_kind;

typedef struct token {
    token_kind kind;
    size_t at, length; /* bytes of the source                                    */
} token;

/* A source file; comments and what the preprocessor reads are no tokens. */
typedef struct source {
    char *data;
    size_t bytes;
    token *tokens;
    size_t n;
} source;

typedef enum operator {
    NEGATE,   /* a condition                                                     */
    BOUND,    /* < and <=, > and >=                                              */
    EQUAL,    /* == and !=                                                       */
    SUM,      /* + and -, * and +, / and *, += and -=                            */
    LOGIC,    /* && and ||                                                       */
    BITS,     /* & and |, << and >>                                              */
    CONSTANT, /* a whole number, one more or one less                            */
    REAL,     /* any other number, half as much again                            */
    TRUTH,    /* true and false                                                  */
    STATUS,   /* a status that is given back                                     */
    CALL,     /* a statement that calls, dropped                                 */
    ASSIGN,   /* a statement that assigns, dropped                               */
    LOCK,     /* the locks of a function, dropped                                */
    OPERATORS
} operator;
extern const char *const operator_names[OPERATORS];

/* One edit: `length` bytes at `at` become `text`. */
typedef struct edit {
    size_t at, length;
    char text[64];
} edit;

typedef struct fault {
    operator kind;
    size_t function;   /* the token that names it                                */
    size_t first;      /* the token at which it begins                           */
    edit edits[12];    /* in order                                               */
    int n_edits;
} fault;

bool source_read(source *s, const char *path);
void source_free(source *s);
/* Compares a token with a text. */
bool source_is(const source *s, size_t token, const char *text);
/* Line of a token, from 1; the line itself without the blanks around it. */
unsigned source_line(const source *s, size_t token);
void source_line_text(const source *s, size_t token, char *text, size_t size);

/* All faults of a file, in the order of the source; returns their number, *faults is the caller's.
 * -1: no memory. */
long faults_find(const source *s, fault **faults);
/* Writes the file with the fault in it to stdout. */
void fault_print(const source *s, const fault *f);

#endif
