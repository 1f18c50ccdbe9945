/* Folders that a test has made for what devices keep. */
#ifndef TESTS_OPENCL_FOLDER_H
#define TESTS_OPENCL_FOLDER_H

/* Removes a folder and all that is in it; how many files these were. */
unsigned remove_all(const char *folder);

#endif
