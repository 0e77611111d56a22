/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that may live in files that change. Loop thread.
 */
#pragma once

#include "base/core/file.h"

/* Of a kubeconfig, a certificate file, a token file, and what a plugin prints. */
#define AB_KUBE_FILE_MAX (1024u * 1024)

/* A certificate, key or token: given in place, or by a file that is read again when it changed. */
typedef struct {
    char *path;          /* NULL: given in place */
    char *text;          /* NULL: there is none, or its file was not read yet */
    ab_file_stamp stamp; /* of the file when it was read */
} ab_kube_text;

void ab_kube_text_fini(ab_kube_text *t);
/** There is one, in place or in a file. */
bool ab_kube_text_given(const ab_kube_text *t);
/** Absent when there is none. */
ab_str ab_kube_text_str(const ab_kube_text *t);
/** The file is not the one that was read. Also true for one that cannot be looked at. */
bool ab_kube_text_changed(const ab_kube_text *t);
/** A copy with the file as it is now. @return IO, NOTFOUND, DENIED, INVALID (no regular file, NUL
 * byte), TOOBIG, NOMEM; with the path in `err` */
AB_MUST_USE ab_err ab_kube_text_load(const ab_kube_text *from, ab_kube_text *out, ab_error *err);
/** Free a secret that is text; NULL is allowed. */
void ab_kube_wipe(char *secret);
