/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/resource.h"

#include <stddef.h>

#define ARGO "argoproj.io/v1alpha1"

static const char *const application[] = {"operation", NULL};
static const char *const none[] = {NULL};
static const char *const secret[] = {"data", "immutable", NULL};
static const char *const config_map[] = {"data", "binaryData", "immutable", NULL};

static const ab_kube_resource table[] = {
    {"Application", ARGO, "/apis/" ARGO, "applications", application, true},
    {"AppProject", ARGO, "/apis/" ARGO, "appprojects", none, true},
    {"Secret", "v1", "/api/v1", "secrets", secret, true},
    {"Event", "v1", "/api/v1", "events", none, false},
    {"ConfigMap", "v1", "/api/v1", "configmaps", config_map, false},
};

const ab_kube_resource *ab_kube_resource_of(ab_str kind)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (ab_str_is(kind, table[i].kind))
            return &table[i];
    return NULL;
}

void ab_kube_path(const ab_kube_resource *r, ab_str ns, ab_str name, ab_buf *out)
{
    ab_buf_puts(out, r->base);
    if (ns.len > 0)
        ab_buf_printf(out, "/namespaces/%.*s", AB_STR_ARG(ns));
    ab_buf_printf(out, "/%s", r->plural);
    if (name.len > 0)
        ab_buf_printf(out, "/%.*s", AB_STR_ARG(name));
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void ab_kube_query(ab_buf *out, char before, const char *name, ab_str value)
{
    ab_buf_putc(out, before);
    ab_buf_puts(out, name);
    ab_buf_putc(out, '=');
    for (size_t i = 0; i < value.len; i++)
        if (is_unreserved(value.ptr[i]))
            ab_buf_putc(out, value.ptr[i]);
        else
            ab_buf_printf(out, "%%%02X", (unsigned)(unsigned char)value.ptr[i]);
}
