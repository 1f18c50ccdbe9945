/* Files of tests/data/templates. */
#ifndef TESTS_CHAT_FILES_H
#define TESTS_CHAT_FILES_H

/* The whole of one, terminated, to be freed; "" if it cannot be read. */
char *template_file(const char *name);

#endif
