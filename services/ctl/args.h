/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads argobusctl's command line. Flags may stand anywhere, "--name value" or "--name=value"; "--"
 * ends them.
 */
#pragma once

#include "services/ctl/command.h"

typedef struct {
    const ab_ctl_command *const *rows;
    size_t count;
} ab_ctl_commands;

typedef enum { AB_CTL_RUN, AB_CTL_HELP, AB_CTL_VERSION } ab_ctl_wanted;

/* Flags that are the same for all commands. The last, --output, only those have that show. A flag
 * of the command's own counts before one of these with its name. */
extern const ab_ctl_flag ab_ctl_global_flags[];
/** How many of them a command has. @param command  NULL: not known yet, which is all of them */
size_t ab_ctl_global_flag_count(const ab_ctl_command *command);

/** "name" of "--name" and "--name=value"; of "-c", "-h" and "-o" what they stand for. @param arg
 *  begins with '-' @return borrowed; empty: it is none */
ab_str ab_ctl_flag_name(const char *arg);
/** What the environment says, and no command. */
void ab_ctl_begin(ab_ctl *out);
/**
 * @param out     with AB_CTL_HELP its command is the one that help is wanted for, or NULL: for all
 * @param wanted  what is to be done
 * @return INVALID: `err` says what is wrong and how to get help
 */
AB_MUST_USE ab_err ab_ctl_parse(ab_ctl_commands commands, int argc, char **argv, ab_ctl *out,
                                ab_ctl_wanted *wanted, ab_error *err);
