/* SPDX-License-Identifier: Apache-2.0
 *
 * Of a chain the certificate that expires first counts: without it the chain is broken. Of
 * authorities the one that expires last: until then something is trusted, and a bundle keeps
 * authorities that have been replaced.
 */
#include "services/daemon/certificates.h"

#include "base/core/file.h"
#include "base/crypto/certificate.h"
#include "base/crypto/pem.h"

#include <stdlib.h>
#include <string.h>

struct row {
    const char *path;
    bool authorities;
    ab_file_stamp seen;
    ab_metric *expiry;
};

struct ab_certificates {
    size_t count;
    struct row rows[];
};

static bool ends_in(const char *name, const char *last)
{
    const char *dot = strrchr(name, '.');
    return strcmp(dot == NULL ? name : dot + 1, last) == 0;
}

static const char *file_of(const ab_option *option, const ab_config *config)
{
    bool certificate = ends_in(option->name, "ca") || ends_in(option->name, "cert") ||
                       ends_in(option->name, "certificate");
    if (option->kind != AB_OPT_FILE || !certificate)
        return NULL;
    return ab_config_str(config, option->name);
}

static double expiry_of(STACK_OF(X509) * certs, bool authorities)
{
    int64_t found = ab_certificate_expires_s(sk_X509_value(certs, 0));
    for (int i = 1; i < sk_X509_num(certs); i++) {
        int64_t expires = ab_certificate_expires_s(sk_X509_value(certs, i));
        if ((expires > found) == authorities)
            found = expires;
    }
    return (double)found;
}

/* What cannot be read does not count: whoever uses the file goes on with what it read before. */
static void read_row(struct row *row)
{
    STACK_OF(X509) *certs = NULL;
    ab_error err = {0};
    ab_buf pem = ab_buf_up_to(AB_PEM_MAX);
    if (ab_file_read(row->path, &pem, NULL, &err) == AB_ERR_OK &&
        ab_pem_certs(ab_buf_str(&pem), &certs) == AB_ERR_OK) {
        ab_metric_set(row->expiry, expiry_of(certs, row->authorities));
        sk_X509_pop_free(certs, X509_free);
    }
    ab_buf_fini(&pem);
}

static void on_render(void *arg)
{
    ab_certificates *c = arg;
    for (size_t i = 0; i < c->count; i++) {
        struct row *row = &c->rows[i];
        ab_file_stamp now = ab_file_stamp_of(row->path);
        if (ab_file_stamp_eq(&now, &row->seen))
            continue;
        row->seen = now;
        read_row(row);
    }
}

static void add(ab_certificates *c, const ab_option *option, const char *path, ab_metrics *metrics)
{
    const ab_label label = {"option", ab_str_of(option->name)};
    c->rows[c->count++] =
        (struct row){.path = path,
                     .authorities = ends_in(option->name, "ca"),
                     .expiry = ab_metric_get(
                         metrics, AB_METRIC_GAUGE, "argobus_certificate_expiry_timestamp_seconds",
                         "When the certificate in the file of an option expires, seconds since "
                         "1970; 0: it cannot be read.",
                         &label, 1)};
}

ab_err ab_certificates_new(const ab_options *tables, size_t table_count, const ab_config *config,
                           ab_metrics *metrics, ab_certificates **out)
{
    size_t options = 0;
    for (size_t t = 0; t < table_count; t++)
        options += tables[t].count;
    ab_certificates *c = calloc(1, sizeof(*c) + options * sizeof(c->rows[0]));
    if (c == NULL)
        return AB_ERR_NOMEM;
    for (size_t t = 0; t < table_count; t++) {
        for (size_t i = 0; i < tables[t].count; i++) {
            const char *path = file_of(&tables[t].rows[i], config);
            if (path != NULL)
                add(c, &tables[t].rows[i], path, metrics);
        }
    }
    ab_metrics_on_render(metrics, on_render, c);
    *out = c;
    return AB_ERR_OK;
}

void ab_certificates_free(ab_certificates *c)
{
    free(c);
}
