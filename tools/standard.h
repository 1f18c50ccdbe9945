/* Standard input and output as tools find them. */
#ifndef TOOLS_STANDARD_H
#define TOOLS_STANDARD_H

/* What is closed stays so for those who read or write it, and no other file gets its number; called first. */
void keep_standard_files(void);
/* The exit status, or 1 if what was printed did not arrive, and a line says so. */
int written(const char *program, int code);

#endif
