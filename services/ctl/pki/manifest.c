/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/manifest.h"

#include "base/core/base64.h"

static ab_err check_names(const ab_pki_manifest *m, ab_error *err)
{
    if (!ab_str_is_dns_subdomain(ab_str_of(m->name)))
        return ab_fail(err, AB_ERR_INVALID,
                       "\"%s\" is not a name for a Kubernetes object: use a-z, 0-9, - and .",
                       m->name);
    if (!ab_str_is_dns_label(ab_str_of(m->namespace_name)))
        return ab_fail(err, AB_ERR_INVALID, "--namespace: \"%s\" is not a DNS label",
                       m->namespace_name);
    return AB_ERR_OK;
}

static void begin(const ab_pki_manifest *m, const char *kind, ab_buf *out)
{
    ab_buf_printf(out, "apiVersion: v1\nkind: %s\nmetadata:\n  name: \"%s\"\n  namespace: \"%s\"\n",
                  kind, m->name, m->namespace_name);
}

static void put_data(const char *name, ab_str text, ab_buf *out)
{
    if (text.ptr == NULL)
        return;
    ab_buf_printf(out, "  %s: ", name);
    ab_base64_encode(text, out);
    ab_buf_putc(out, '\n');
}

ab_err ab_pki_manifest_secret(const ab_pki_manifest *m, ab_buf *out, ab_error *err)
{
    ab_err e = check_names(m, err);
    if (e != AB_ERR_OK)
        return e;
    begin(m, "Secret", out);
    ab_buf_printf(out, "type: %s\ndata:\n", m->key.ptr == NULL ? "Opaque" : "kubernetes.io/tls");
    put_data("tls.crt", m->cert, out);
    put_data("tls.key", m->key, out);
    put_data("ca.crt", m->ca, out);
    return ab_buf_status(out);
}

/* PEM has no character that a block of YAML would need quoted. */
static void put_block(const char *name, ab_str text, ab_buf *out)
{
    ab_buf_printf(out, "  %s: |\n", name);
    while (text.len > 0) {
        ab_str line = ab_str_cut(&text, '\n');
        ab_buf_printf(out, "    %.*s\n", AB_STR_ARG(line));
    }
}

ab_err ab_pki_manifest_configmap(const ab_pki_manifest *m, ab_buf *out, ab_error *err)
{
    ab_err e = check_names(m, err);
    if (e != AB_ERR_OK)
        return e;
    begin(m, "ConfigMap", out);
    ab_buf_puts(out, "data:\n");
    put_block("ca.crt", m->ca, out);
    return ab_buf_status(out);
}
