/*
 * Text to tokens and back, from the tokenizer.ggml.* keys of a GGUF file:
 * byte-level BPE ("gpt2"), SentencePiece's BPE ("llama") and unigram ("t5"), BPE over characters ("gemma4"), WordPiece
 * ("bert"), and the longest piece first ("rwkv").
 *
 * A tokenizer is immutable once created: any thread may use it.  It copies what
 * it needs: the file may be closed.
 */
#ifndef ENGINE_LM_TOKENIZER_H
#define ENGINE_LM_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

typedef struct eng_tokenizer eng_tokenizer;

/* ENG_ERR_NOTFOUND if the file has no tokenizer, ENG_ERR_FORMAT if it is
 * damaged, ENG_ERR_UNSUPPORTED for a model or pre-tokenizer that is not known. */
int eng_tokenizer_create(const eng_gguf *gguf, eng_tokenizer **tokenizer);
void eng_tokenizer_destroy(eng_tokenizer *tokenizer); /* takes NULL */

enum {
    ENG_TOKENIZE_ADD_SPECIAL = 1,  /* BOS before and EOS after, where the model wants them      */
    ENG_TOKENIZE_PARSE_SPECIAL = 2 /* control tokens written out in the text are recognised too */
};
/* *ids: malloc'ed, for the caller to free (NULL if *n is 0).  Text may hold
 * anything, NUL bytes and invalid UTF-8 too. */
int eng_tokenizer_encode(const eng_tokenizer *tokenizer, const char *text, size_t length, uint32_t flags, int32_t **ids,
                         size_t *n);

/* Bytes from..to of a text, in which control tokens that are written out are not recognised: in their order. */
typedef struct eng_tokenizer_range {
    size_t from, to;
} eng_tokenizer_range;
int eng_tokenizer_encode_around(const eng_tokenizer *tokenizer, const char *text, size_t length, uint32_t flags,
                                const eng_tokenizer_range *plain, size_t n_plain, int32_t **ids, size_t *n);

uint32_t eng_tokenizer_count(const eng_tokenizer *tokenizer); /* size of the vocabulary */
/* The token as the file spells it ("Ġthe"); NULL if there is no such token. */
const char *eng_tokenizer_spelling(const eng_tokenizer *tokenizer, int32_t id);
/* The id of a spelling; -1 if there is none. */
int32_t eng_tokenizer_find(const eng_tokenizer *tokenizer, const char *spelling);
int32_t eng_tokenizer_bos(const eng_tokenizer *tokenizer); /* -1: none */
int32_t eng_tokenizer_eos(const eng_tokenizer *tokenizer); /* -1: none */
int32_t eng_tokenizer_unknown(const eng_tokenizer *tokenizer); /* -1: none */
bool eng_tokenizer_adds_bos(const eng_tokenizer *tokenizer);
/* Does this token end a generation (end of sequence, turn, message)? */
bool eng_tokenizer_is_end(const eng_tokenizer *tokenizer, int32_t id);
bool eng_tokenizer_is_control(const eng_tokenizer *tokenizer, int32_t id);

/* The bytes of one token; not terminated, may be part of a character.  Control
 * tokens have bytes only if `special`.  NULL and 0 for no such token. */
const char *eng_tokenizer_piece(const eng_tokenizer *tokenizer, int32_t id, bool special, size_t *length);

/* Text of a whole list: *text malloc'ed and terminated.  flags: ENG_DETOKENIZE_* */
enum {
    ENG_DETOKENIZE_SPECIAL = 1,   /* control tokens are spelled out                              */
    ENG_DETOKENIZE_KEEP_SPACE = 2 /* do not drop the space that SPM puts before the first word   */
};
int eng_tokenizer_decode(const eng_tokenizer *tokenizer, const int32_t *ids, size_t n, uint32_t flags, char **text,
                         size_t *length);

/* Text as it is generated: incomplete UTF-8 at the end is held back. */
typedef struct eng_detokenizer {
    const eng_tokenizer *tokenizer;
    uint32_t flags; /* ENG_DETOKENIZE_*                           */
    bool started;   /* the first piece has been seen              */
    uint32_t n_held;
    char held[4];
    char *buffer; /* what the last call returned                */
    size_t room;
} eng_detokenizer;
void eng_detokenizer_init(eng_detokenizer *d, const eng_tokenizer *tokenizer, uint32_t flags);
/* The text that this token completes; valid until the next call. */
int eng_detokenizer_next(eng_detokenizer *d, int32_t id, const char **text, size_t *length);
/* What is still held back, at the end. */
int eng_detokenizer_finish(eng_detokenizer *d, const char **text, size_t *length);
void eng_detokenizer_free(eng_detokenizer *d);

#endif
