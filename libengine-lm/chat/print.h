/* Values as text: Python's str() and repr(), JSON; values compared. */
#ifndef ENGINE_LM_CHAT_PRINT_H
#define ENGINE_LM_CHAT_PRINT_H

#include "value.h"

/* Python's repr of a number: the shortest digits that give it again. */
bool tpl_print_float(tpl_run *r, tpl_text *t, double f);
bool tpl_repr(tpl_run *r, tpl_text *t, const tpl_value *v);
bool tpl_str(tpl_run *r, tpl_text *t, const tpl_value *v);
/* As a string value; what is one stays it. */
bool tpl_as_string(tpl_run *r, const tpl_value *v, tpl_value *s);

/* json.dumps (tojson.c).  indent NULL: on one line; item, key: what stands between. */
typedef struct tpl_json {
    bool ascii, sorted;
    const tpl_string *indent;
    tpl_string item, key;
} tpl_json;
bool tpl_to_json(tpl_run *r, tpl_text *t, const tpl_value *v, const tpl_json *how);

/* compare.c */
bool tpl_equal(tpl_run *r, const tpl_value *a, const tpl_value *b, bool *equal);
/* < 0, 0, > 0; *unordered: NaN.  `sign` is what the error shows. */
bool tpl_order(tpl_run *r, const tpl_value *a, const tpl_value *b, const char *sign, int *order);
#define TPL_UNORDERED 2
bool tpl_in(tpl_run *r, const tpl_value *part, const tpl_value *whole, bool *in);
/* The value of a key; NULL with *ok: there is none. */
tpl_value *tpl_dict_find(tpl_run *r, const tpl_dict *d, const tpl_value *key, bool *ok);
tpl_value *tpl_dict_name(const tpl_dict *d, const char *name, size_t n);
bool tpl_dict_set(tpl_run *r, tpl_dict *d, tpl_value key, tpl_value value);
bool tpl_hashable(tpl_run *r, const tpl_value *v, bool *hashable);
/* tpl_dict_find, and it fails for what is no key. */
tpl_value *tpl_dict_get(tpl_run *r, const tpl_dict *d, const tpl_value *key, bool *ok);
/* Where `part` begins in `whole`, from byte `from` on; SIZE_MAX: nowhere. */
size_t tpl_find(const tpl_string *whole, const tpl_string *part, size_t from);

#endif
