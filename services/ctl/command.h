/* SPDX-License-Identifier: Apache-2.0
 *
 * A command of argobusctl: a noun with a verb ("agent list"), or a verb alone ("resync"). What is
 * said here of its operands and flags is what parsing, help and shell completion go by; a command
 * that is run finds them checked. Each room declares its commands; commands.c joins them.
 */
#pragma once

#include "base/core/buf.h"

#include <stddef.h>

/* How argobusctl ends. These are part of its interface: docs/argobusctl.md. */
enum {
    AB_CTL_OK = 0,
    AB_CTL_FAILED = 1,      /* it was tried, and did not succeed; a check found an error */
    AB_CTL_USAGE = 2,       /* the command line is wrong; nothing was done */
    AB_CTL_UNREACHABLE = 3, /* no principal, API server or broker could be asked */
    AB_CTL_NOT_FOUND = 4,   /* the agent or object that was named does not exist */
};

#define AB_CTL_OPERANDS_MAX 8
#define AB_CTL_FLAGS_MAX    32

typedef struct {
    const char *name;  /* without its dashes */
    const char *value; /* how help names its value, "FILE"; NULL: the flag has none */
    const char *help;  /* one line, without a full stop */
} ab_ctl_flag;

/** @return NULL: none has this name */
const ab_ctl_flag *ab_ctl_find_flag(const ab_ctl_flag *rows, size_t count, ab_str name);

typedef struct ab_ctl ab_ctl;

typedef struct {
    const char *name;     /* "agent list": its words, with one blank between them */
    const char *operands; /* how help names them, "AGENT"; "" is none */
    size_t operands_min;
    size_t operands_max;  /* at most AB_CTL_OPERANDS_MAX */
    const char *summary;  /* one line, without a full stop */
    const char *examples; /* whole lines; "" is none */
    const ab_ctl_flag *flags;
    size_t flag_count;
    bool shows; /* a document, in the form that --output says; without it there is no such flag */
    /** @return how argobusctl ends; what went wrong has been said on standard error */
    int (*run)(const ab_ctl *ctl);
} ab_ctl_command;

typedef enum { AB_CTL_TABLE, AB_CTL_JSON, AB_CTL_YAML } ab_ctl_form;

/** A command line that was understood. All borrowed from argv and the environment. */
struct ab_ctl {
    const ab_ctl_command *command;
    const char *operands[AB_CTL_OPERANDS_MAX];
    size_t operand_count;
    const char *values[AB_CTL_FLAGS_MAX]; /* by the flag's row; "" for one without value */
    const char *socket;                   /* of the principal; NULL: look where it may be */
    const char *server;                   /* URL of its fleet page; NULL: the socket is asked */
    const char *token_file, *ca;          /* for the server; NULL: none, the system's */
    ab_ctl_form form;
};

/** The value of a flag of the command's own. @return NULL when it was not given */
const char *ab_ctl_value(const ab_ctl *ctl, const char *flag);

/** By this name the program was called: a file kubectl-argobus is "kubectl argobus", as a user of
 * the plugin says it; any other is "argobusctl". Before all else. */
void ab_ctl_set_program(const char *argv0);
/** That name, for usage and errors; "argobusctl" at first. */
const char *ab_ctl_program(void);

/** Say on standard error what went wrong: the program, ": " and the text, in which control
 * characters other than line ends become blanks. @return `code` */
__attribute__((format(printf, 2, 3))) int ab_ctl_fail(int code, const char *format, ...);
