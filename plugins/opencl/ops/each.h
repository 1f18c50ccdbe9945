/* Ops that work element by element: their functions, for each.c and the chains of fuse.c. */
#ifndef CL_EACH_H
#define CL_EACH_H

#include "../opencl.h"

/* The expression of the op table that a node computes of its elements; NULL: none. */
const char *cl_each_expression(const eng_node *node);
/* OpenCL text that defines it as a function NAME_float (and NAME_float16) of x, y, p and
 * q: begins what is put before a kernel's file.  As snprintf. */
int cl_each_function(char *text, size_t room, const char *name, const char *expression);

/* What is put before the file of a kernel that takes the node as its epilogue: EPILOGUE(type, value).  NULL: nothing. */
#define CL_EPILOGUE_TEXT 1024
void cl_epilogue_text(const eng_node *epilogue, char text[CL_EPILOGUE_TEXT]);

#endif
