/* A program on a terminal of its own: keys go in, and what a person would see comes out. */
#ifndef TESTS_SCREEN_H
#define TESTS_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SCREEN_ROWS = 50, SCREEN_COLUMNS = 100, SCREEN_CELL = 8 };

typedef struct screen {
    int fd;
    pid_t pid;
    char cell[SCREEN_ROWS][SCREEN_COLUMNS][SCREEN_CELL]; /* a character each, UTF-8 */
    int row, column;
    char part[16]; /* of a character or a sequence that is not complete */
    size_t n_part;
    char *raw; /* all that came */
    size_t n_raw, room, seen;
} screen;

/* argv ends with NULL.  false: there are no terminals here. */
bool screen_open(screen *s, char *const argv[]);
void screen_keys(screen *s, const char *keys);
void screen_resize(screen *s, int rows, int columns);
/* Waits for text that comes after what was waited for before; bytes as they come.  false: it does not come. */
bool screen_wait(screen *s, const char *text);
/* A line of the screen without the blanks at its end; valid until the next call. */
const char *screen_line(screen *s, int row);
/* The line where the cursor is. */
const char *screen_here(screen *s);
/* Waits for the program's end; what waitpid tells, -1: it does not end, and is killed. */
int screen_close(screen *s);

#endif
