/* SPDX-License-Identifier: Apache-2.0
 *
 * Shell completion. The scripts of all shells ask argobusctl itself ("argobusctl __complete
 * WORD...") so that they know nothing that could become out of date.
 */
#pragma once

#include "services/ctl/args.h"

/* Who knows names. Each appends them, a line each, and nothing when they cannot be had soon. */
typedef struct {
    /** Of the agents. @param socket  as in ab_ctl */
    void (*agents)(const char *socket, ab_buf *out);
    /** Of the contexts of a kubeconfig. @param kubeconfig  flag --kubeconfig; NULL: not given */
    void (*contexts)(const char *kubeconfig, ab_buf *out);
} ab_ctl_names;

/**
 * Append what the last word can become, a line each: the word, a tab, and what it means. Nothing
 * where only the shell knows, as for files.
 * @param words  of the command line, without the program's name; the last may be empty
 */
void ab_ctl_complete(ab_ctl_commands commands, int count, char **words, const ab_ctl_names *names,
                     ab_buf *out);
/** Append the script of this shell, "bash", "zsh" or "fish". @return false: another one */
bool ab_ctl_put_script(const char *shell, ab_buf *out);

/* Prints the script. */
extern const ab_ctl_command ab_ctl_completion;
