/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/access/kubeconfig_entry.h"

#include "base/core/base64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ab_kubeconfig_is_set(ab_spanv v)
{
    ab_span_type type = ab_span_typeof(v);
    return type != AB_SPAN_NONE && type != AB_SPAN_NULL && !ab_span_is(v, "");
}

ab_err ab_kubeconfig_take_text(ab_spanv v, const char *name, char **out, ab_error *err)
{
    if (!ab_kubeconfig_is_set(v))
        return AB_ERR_OK;
    ab_buf text = ab_buf_up_to(AB_KUBE_FILE_MAX);
    ab_err e = ab_span_copy(v, &text);
    if (e == AB_ERR_INVALID) {
        e = ab_fail(err, AB_ERR_CONFIG, "%s is not a string; put it in quotes", name);
    } else if (e != AB_ERR_OK) {
        (void)ab_fail(err, e, "%s: %s", name, ab_err_text(e));
    } else if (memchr(text.ptr, '\0', text.len) != NULL) {
        e = ab_fail(err, AB_ERR_CONFIG, "%s has a NUL character", name);
    } else if ((*out = ab_str_dup(ab_buf_str(&text))) == NULL) {
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory for %s", name);
    }
    ab_buf_wipe(&text);
    return e;
}

ab_err ab_kubeconfig_take(const ab_kubeconfig_entry *from, const char *name, char **out)
{
    return ab_kubeconfig_take_text(ab_span_get(from->map, name), name, out, from->err);
}

/* A path that was meant from the folder of the file it stands in. */
ab_err ab_kubeconfig_resolve(const ab_kubeconfig_entry *from, char **path)
{
    const char *slash = strrchr(from->path, '/');
    if (*path == NULL || (*path)[0] == '/' || slash == NULL)
        return AB_ERR_OK;
    char *joined = NULL;
    if (asprintf(&joined, "%.*s/%s", (int)(slash - from->path), from->path, *path) < 0)
        return ab_fail(from->err, AB_ERR_NOMEM, "out of memory for a path");
    free(*path);
    *path = joined;
    return AB_ERR_OK;
}

ab_err ab_kubeconfig_take_path(const ab_kubeconfig_entry *from, const char *name, char **out)
{
    ab_err e = ab_kubeconfig_take(from, name, out);
    return e == AB_ERR_OK ? ab_kubeconfig_resolve(from, out) : e;
}

/* YAML may have folded it into several lines. */
static void drop_space(char *text)
{
    char *to = text;
    for (const char *c = text; *c != '\0'; c++)
        if (strchr(" \t\r\n", *c) == NULL)
            *to++ = *c;
    *to = '\0';
}

static ab_err decode(const char *name, char **text, ab_error *err)
{
    ab_buf bytes = ab_buf_up_to(AB_KUBE_FILE_MAX);
    drop_space(*text);
    bool good = ab_base64_decode(ab_str_of(*text), &bytes);
    ab_err e = ab_buf_status(&bytes);
    if (e == AB_ERR_OK && (!good || bytes.len == 0 || memchr(bytes.ptr, '\0', bytes.len) != NULL))
        e = ab_fail(err, AB_ERR_CONFIG, "%s is not base64-encoded PEM", name);
    if (e == AB_ERR_OK) {
        ab_kube_wipe(*text);
        *text = ab_str_dup(ab_buf_str(&bytes));
        e = *text != NULL ? AB_ERR_OK : ab_fail(err, AB_ERR_NOMEM, "out of memory for %s", name);
    }
    ab_buf_wipe(&bytes);
    return e;
}

/* "<name>-data" goes before the file "<name>". */
ab_err ab_kubeconfig_take_pem(const ab_kubeconfig_entry *from, const char *name, ab_kube_text *out)
{
    char data_name[48];
    (void)snprintf(data_name, sizeof(data_name), "%s-data", name);
    ab_err e = ab_kubeconfig_take(from, data_name, &out->text);
    if (e != AB_ERR_OK)
        return e;
    if (out->text != NULL)
        return decode(data_name, &out->text, from->err);
    return ab_kubeconfig_take_path(from, name, &out->path);
}

ab_err ab_kubeconfig_take_flag(const ab_kubeconfig_entry *from, const char *name, bool *out)
{
    ab_span_type type = ab_span_typeof(ab_span_get(from->map, name));
    *out = type == AB_SPAN_TRUE;
    if (type == AB_SPAN_TRUE || type == AB_SPAN_FALSE || type == AB_SPAN_NULL ||
        type == AB_SPAN_NONE)
        return AB_ERR_OK;
    return ab_fail(from->err, AB_ERR_CONFIG, "%s is neither true nor false", name);
}
