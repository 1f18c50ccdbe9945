/*
 * Values of templates, as Python has them, and the run that they live and die with.
 *
 * All memory of a run is one arena's: nothing is freed before the end, and nothing is left then, whatever failed.  What
 * can fail gives false, and the error has been told.
 */
#ifndef ENGINE_LM_CHAT_VALUE_H
#define ENGINE_LM_CHAT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/chat.h"
#include "libengine/util/util.h"

typedef enum tpl_kind {
    TPL_MISSING, /* an argument that was not given; no value of a template */
    TPL_UNDEFINED, TPL_NONE, TPL_BOOL, TPL_INT, TPL_FLOAT, TPL_STRING, TPL_LIST, TPL_TUPLE, TPL_RANGE, TPL_DICT,
    TPL_VIEW,      /* of a dict's keys, values or items                       */
    TPL_ITERATOR,  /* read once: what filters like map give                   */
    TPL_NAMESPACE, TPL_LOOP, TPL_MACRO, TPL_METHOD, TPL_FUNCTION
} tpl_kind;

typedef struct tpl_value tpl_value;
typedef struct tpl_run tpl_run;
typedef struct tpl_node tpl_node;

typedef struct tpl_string {
    const char *at; /* UTF-8, not terminated                                  */
    size_t n;
    const char *of; /* of undefined: what it is not an attribute of, or NULL   */
} tpl_string;

typedef struct tpl_list {
    tpl_value *at;
    size_t n, room;
    size_t next;       /* of iterators: what is read next                      */
    int64_t range[3];  /* of ranges: from, to, step                            */
    const char *what;  /* of views: "dict_keys" ...                            */
} tpl_list;

typedef struct tpl_pair tpl_pair;
typedef struct tpl_dict {
    tpl_pair *at; /* in the order of their coming                              */
    size_t n, room;
} tpl_dict;

typedef struct tpl_loop {
    tpl_list items;
    size_t index;
    unsigned depth;
    tpl_list last; /* what changed() was asked                                 */
} tpl_loop;

typedef struct tpl_scope tpl_scope;
typedef struct tpl_macro {
    const tpl_node *node;
    tpl_scope *scope; /* where it was defined                                  */
} tpl_macro;

typedef struct tpl_method tpl_method; /* methods.c */

struct tpl_value {
    tpl_kind kind;
    bool safe; /* of strings: marked as HTML, so that what is added is escaped */
    union {
        int64_t i;
        double f;
        tpl_string s;
        tpl_list *list;
        tpl_dict *dict; /* of namespaces, too                                 */
        tpl_loop *loop;
        tpl_macro *macro;
        struct {
            const tpl_method *row;
            const tpl_value *self;
        } method;
    };
};
struct tpl_pair {
    tpl_value key, value;
};

/* What a call is given; of filters, tests and methods at[0] is what they are applied to. */
typedef struct tpl_call {
    tpl_value *at;
    size_t n;
    tpl_pair *named;
    size_t n_named;
} tpl_call;

/* Text that grows in the run's memory. */
typedef struct tpl_text {
    char *at;
    size_t n, room;
} tpl_text;

/* Who calls what lies above him. */
typedef struct tpl_hooks {
    bool (*call)(tpl_run *r, const tpl_value *what, tpl_call *call, tpl_value *result);
    bool (*filter)(tpl_run *r, const char *name, size_t n, tpl_call *call, tpl_value *result);
    bool (*test)(tpl_run *r, const char *name, size_t n, tpl_call *call, bool *result);
} tpl_hooks;

struct tpl_run {
    eu_arena memory;
    size_t bytes;
    uint64_t steps;
    unsigned depth, calls; /* of evaluation, of macros                         */
    uint32_t line;         /* of what is being run                            */
    int status;
    size_t written;
    tpl_text *out;
    tpl_scope *scope;
    enum { TPL_GO, TPL_BREAK, TPL_CONTINUE } leave;
    unsigned loops;
    const tpl_hooks *hooks;
    struct tpl_marks *marks; /* NULL: nobody asks where texts come from (marks.h) */
};

/* -- failures, limits (run.c) ---------------------------------------------------------- */

/* Tells of a failure in the line that is being run; false. */
bool tpl_fail(tpl_run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool tpl_fail_as(tpl_run *r, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Counts work. */
bool tpl_step(tpl_run *r, size_t n);
/* One level deeper; leave with r->depth--. */
bool tpl_deeper(tpl_run *r);
void *tpl_alloc(tpl_run *r, size_t n, size_t entry);
char *tpl_alloc_text(tpl_run *r, size_t n);
bool tpl_add(tpl_run *r, tpl_text *t, const char *at, size_t n);
bool tpl_add_word(tpl_run *r, tpl_text *t, const char *word);
bool tpl_format(tpl_run *r, tpl_text *t, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* -- making (value.c) ---------------------------------------------------------------------- */

tpl_value tpl_none(void);
tpl_value tpl_bool(bool b);
tpl_value tpl_int(int64_t i);
tpl_value tpl_float(double f);
tpl_value tpl_string_of(const char *at, size_t n);
tpl_value tpl_word(const char *word);
tpl_value tpl_text_value(const tpl_text *t);
tpl_value tpl_undefined(const char *name, size_t n, const char *of);
bool tpl_list_new(tpl_run *r, tpl_kind kind, size_t n, tpl_value *v); /* n entries: none yet */
bool tpl_list_add(tpl_run *r, tpl_value *list, tpl_value entry);
bool tpl_tuple2(tpl_run *r, tpl_value a, tpl_value b, tpl_value *v);
bool tpl_dict_new(tpl_run *r, tpl_kind kind, tpl_value *v);
/* Without a look at what is there. */
bool tpl_dict_append(tpl_run *r, tpl_dict *d, tpl_value key, tpl_value value);
bool tpl_range_new(tpl_run *r, int64_t from, int64_t to, int64_t step, tpl_value *v);

/* -- looking (value.c) ------------------------------------------------------------------------ */

const char *tpl_type(const tpl_value *v); /* as Python names it */
bool tpl_is_text(const tpl_value *v, const char *word);
bool tpl_same(const char *a, size_t n, const char *word);
bool tpl_truth(const tpl_value *v);
bool tpl_is_number(const tpl_value *v); /* truth values are numbers */
bool tpl_is_whole(const tpl_value *v);  /* int or bool */
double tpl_number(const tpl_value *v);
bool tpl_is_sequence(const tpl_value *v); /* list, tuple, range */
size_t tpl_chars(const char *at, size_t n);
/* Byte at which character `index` begins. */
size_t tpl_char_at(const char *at, size_t n, size_t index);
bool tpl_length(tpl_run *r, const tpl_value *v, size_t *n);
bool tpl_iterable(const tpl_value *v);
/* The entries, which must not be written to. */
bool tpl_entries(tpl_run *r, const tpl_value *v, tpl_list *entries);
/* White space as Python sees it; the bytes of such a character at the beginning or the end, 0: none. */
size_t tpl_space_at(const char *at, size_t n);
size_t tpl_space_before(const char *at, size_t n);

#endif
