/*
 * engine-probe: what is here, what failed to load and why.
 *
 * One collector fills a plain report; the printers only print it.  Plugins are
 * loaded in child processes, one each, because a driver may crash the process
 * that loads it: a child writes what it finds as records into a pipe, and the
 * parent, which never loads a plugin, reads them.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <engine/engine.h>

enum { EXIT_NO_DEVICE = 1, EXIT_REJECTED = 2, EXIT_TEST_FAILED = 3, EXIT_USAGE = 64 };

/* eng_plugin_status, and for the probe alone: */
enum { PROBE_PLUGIN_CRASHED = 100 };

typedef struct probe_plugin {
    uint32_t status;
    uint32_t n_devices;
    bool deadly; /* it ends or stops a process that loads it */
    char *name, *path, *version, *description, *stage, *reason, *advice;
} probe_plugin;

typedef struct probe_device {
    eng_device_info info;
    double share;
    bool leaf; /* of the composed device before it */
} probe_device;

typedef struct probe_option {
    char *name, *environment, *value, *default_value, *source, *help;
} probe_option;

/* One answer of the op x type matrix.  answer: eng_support, or -1: the op does not take the type. */
typedef struct probe_cell {
    char *device, *op, *type, *reason;
    int answer;
} probe_cell;

typedef struct probe_report {
    probe_plugin *plugins;
    uint32_t n_plugins;
    probe_device *devices;
    uint32_t n_devices;
    probe_option *options;
    uint32_t n_options;
    probe_cell *cells;
    uint32_t n_cells;
    bool avoided; /* a plugin that ends processes was left out */
    bool complete; /* the last child has come to its end */
    char *progress; /* what the last child said that it is at; NULL: nothing */
    void (*told)(void *user); /* when there is more in the report; may be NULL */
    void *user;
    uint32_t error_code; /* eng_error_code */
    char *error; /* of a child that failed in order; NULL: none */
} probe_report;

typedef struct probe_settings {
    char *plugin_path;
    bool isolate;
    double timeout; /* seconds a child may take */
} probe_settings;

/* -- probe_record.c */
void probe_write_plugin(FILE *out, const eng_plugin_info *info);
void probe_write_device(FILE *out, const eng_device_info *info, double share, bool leaf);
void probe_write_option(FILE *out, const eng_option_info *info);
void probe_write_cell(FILE *out, const char *device, const char *op, const char *type, int answer, const char *reason);
void probe_write_error(FILE *out); /* eng_last_error() */
/* The last record: a child that ended without it was ended by what it had loaded. */
void probe_write_end(FILE *out);
void probe_write_progress(FILE *out, const char *text);
/* Adds the records in `text` to the report. */
void probe_read(probe_report *report, char *text);
void probe_report_free(probe_report *report);
char *probe_copy(const char *text); /* strdup that ends the program when memory does */
void *probe_add(void *list, uint32_t *n, size_t item);

/* -- probe_child.c */
typedef struct probe_end {
    bool crashed, timed_out;
    int signal, code;
    char what[96]; /* "signal 11 (Segmentation fault)" */
} probe_end;
/* Runs body in a child (or here, if not isolated) and reads its records. */
void probe_run(const probe_settings *settings, const char *doing, void (*body)(FILE *out, void *arg), void *arg,
               probe_report *report, probe_end *end);

/* -- probe_collect.c */
eng_context *probe_context(const probe_settings *settings, uint32_t flags);
/* All plugins, devices and options. */
void probe_collect(const probe_settings *settings, probe_report *report);
/* One device by name, with its leaves.  False: it does not open; report->error says why. */
bool probe_one(const probe_settings *settings, const char *name, probe_report *report);
/* Turns a child's end into report->error, if it has not told of one itself. */
void probe_explain(const probe_settings *settings, const char *device, const probe_end *end, probe_report *report);
/* What is loaded from now on is loaded without the deadly plugins of the report; false: it has none. */
bool probe_avoid(const probe_report *report);
/* Variables of the environment that nobody reads. */
void probe_tell_unread(const probe_report *report);
int probe_exit_code(const probe_report *report);

/* -- probe_ops.c */
/* Adds the matrix of one device to the report's cells.  False: report->error says why not. */
bool probe_ops(const probe_settings *settings, const char *device, probe_report *report);

/* -- probe_bench.c */
/* Times a few ops on a device: a table on stdout as it goes.  False: report->error says why not. */
bool probe_bench(const probe_settings *settings, const char *device, probe_report *report);

/* -- probe_test.c */
/* Runs the conformance suite on a device - all of it, or these ops ("add,cpy") - TAP on stdout as it goes, numbering
 * from
 * *test on.  Failed tests; -1: it could not begin, as the device is not usable; -2: as
 * its name cannot be read. */
int probe_test(const probe_settings *settings, const char *device, const char *ops, int *test);

/* -- probe_print.c */
typedef enum probe_format { PROBE_HUMAN, PROBE_TSV, PROBE_JSON } probe_format;
void probe_print_devices(const probe_report *report, probe_format format);
void probe_print_details(const probe_report *report);
void probe_print_plugins(const probe_report *report, probe_format format);
void probe_print_options(const probe_report *report, probe_format format);
void probe_print_ops(const probe_report *report, probe_format format);
void probe_print_refusal(const probe_plugin *plugin);
/* On stderr: every plugin that was refused, and why. */
void probe_print_refusals(const probe_report *report);
const char *probe_status_name(uint32_t status);
const char *probe_kind_name(uint32_t kind);
const char *probe_answer_name(int answer);

/* -- probe_json.c */
void probe_print_json(const probe_report *report);

#endif
