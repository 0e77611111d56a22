/* SPDX-License-Identifier: Apache-2.0
 *
 * Small files that others replace while we run: tokens, certificates. Read on the loop: they are a
 * few KiB, in memory (a pod's volumes) or in the page cache.
 */
#include "store/kubernetes/access/access_file.h"

#include <stdlib.h>
#include <string.h>

void ab_kube_wipe(char *secret)
{
    if (secret == NULL)
        return;
    explicit_bzero(secret, strlen(secret));
    free(secret);
}

void ab_kube_text_fini(ab_kube_text *t)
{
    free(t->path);
    ab_kube_wipe(t->text);
    *t = (ab_kube_text){0};
}

bool ab_kube_text_given(const ab_kube_text *t)
{
    return t->path != NULL || t->text != NULL;
}

ab_str ab_kube_text_str(const ab_kube_text *t)
{
    return ab_str_of(t->text);
}

bool ab_kube_text_changed(const ab_kube_text *t)
{
    ab_file_stamp now = ab_file_stamp_of(t->path);
    now.changed = t->stamp.changed; /* other modes or links make it no other text */
    return t->path != NULL && !ab_file_stamp_eq(&now, &t->stamp);
}

static ab_err load_file(ab_kube_text *t, ab_error *err)
{
    ab_buf text = ab_buf_secret_up_to(AB_KUBE_FILE_MAX);
    ab_err e = ab_file_read(t->path, &text, &t->stamp, err);
    if (e == AB_ERR_OK && text.len > 0 && memchr(text.ptr, '\0', text.len) != NULL)
        e = ab_fail(err, AB_ERR_INVALID, "%s has a NUL character", t->path);
    else if (e == AB_ERR_OK && (t->text = ab_str_dup(ab_buf_str(&text))) == NULL)
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory for %s", t->path);
    ab_buf_wipe(&text);
    return e;
}

ab_err ab_kube_text_load(const ab_kube_text *from, ab_kube_text *out, ab_error *err)
{
    ab_kube_text t = {.path = ab_str_dup(ab_str_of(from->path))};
    ab_err e = AB_ERR_OK;
    if (from->path != NULL && t.path == NULL)
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory for a path");
    else if (t.path != NULL)
        e = load_file(&t, err);
    else if (from->text != NULL && (t.text = ab_str_dup(ab_str_of(from->text))) == NULL)
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory for a string");
    if (e == AB_ERR_OK)
        *out = t;
    else
        ab_kube_text_fini(&t);
    return e;
}
