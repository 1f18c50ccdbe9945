/* engine-generate: what a person types. */
#ifndef ENGINE_TOOLS_CHAT_INPUT_H
#define ENGINE_TOOLS_CHAT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

enum { INPUT_TEXT, INPUT_INTERRUPTED, INPUT_INTERRUPTED_EMPTY, INPUT_END, INPUT_NO_MEMORY };

/* Reads standard input: with history and keys that edit where editing is asked for and was built in, else as it
 * comes. */
typedef struct chat_input chat_input;
chat_input *chat_input_open(bool edit);
void chat_input_close(chat_input *in);
/* What was typed up to a line that does not end in a backslash, to be freed.  color, plain: around the prompt. */
int chat_input_next(chat_input *in, const char *color, const char *prompt, const char *plain, char **text);

/* Until there is something to read, or a signal came; false: it was Ctrl-C (chat_wait.c). */
bool chat_input_wait(void);

/* -- one line, of the two kinds -------------------------------------------------------------- */

typedef struct chat_edit chat_edit;
/* NULL: not built in, or no terminal that it could do with (chat_edit.c). */
chat_edit *chat_edit_open(void);
void chat_edit_close(chat_edit *e);
int chat_edit_line(chat_edit *e, const char *color, const char *prompt, const char *plain, char **line);
/* For --version. */
const char *chat_edit_name(void);

#endif
