/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows a certificate, and says what is wrong with it: it has expired, its key belongs to another
 * one, or the CA has not signed it.
 */
#include "services/ctl/output.h"
#include "services/ctl/pki/describe.h"
#include "services/ctl/pki/options.h"
#include "services/ctl/pki/pair.h"
#include "services/ctl/pki/pki.h"

#include <openssl/err.h>
#include <stdio.h>
#include <unistd.h>

static const ab_ctl_flag flags[] = {
    {"key", "FILE", "its key (default: the file beside it that ends with .key)"},
    {"ca", "FILE", "the certificates of the CA that it must be signed by"},
};

typedef struct {
    const ab_ctl *ctl;
    STACK_OF(X509) * certs;
    cJSON *doc;
    bool sound; /* nothing is wrong with it */
    ab_error *err;
} inspection;

static bool add_finding(inspection *s, const char *member, bool good, const char *text)
{
    s->sound = s->sound && good;
    return ab_doc_add_str(s->doc, member, ab_str_of(text));
}

static bool add_validity(inspection *s)
{
    const X509 *cert = sk_X509_value(s->certs, 0);
    if (X509_cmp_current_time(X509_get0_notAfter(cert)) <= 0)
        return add_finding(s, "validity", false, "expired: renew it (argobusctl pki renew)");
    if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0)
        return add_finding(s, "validity", false, "not valid yet: look at the clocks");
    return add_finding(s, "validity", true, "ok");
}

/* ----- its key ----- */

static ab_err add_key(inspection *s)
{
    ab_pki_paths paths;
    ab_error ignored;
    EVP_PKEY *key = NULL;
    const char *path = ab_ctl_value(s->ctl, "key");
    if (path == NULL && ab_pki_paths_of(s->ctl->operands[0], &paths, &ignored) == AB_ERR_OK &&
        access(paths.key, F_OK) == 0)
        path = paths.key;
    if (path == NULL)
        return AB_ERR_OK;
    ab_err e = ab_pki_read_key(path, &key, s->err);
    if (e != AB_ERR_OK)
        return e;
    bool same = X509_check_private_key(sk_X509_value(s->certs, 0), key) == 1;
    EVP_PKEY_free(key);
    ERR_clear_error();
    return add_finding(s, "keyFile", same, same ? "ok" : "belongs to another certificate")
               ? AB_ERR_OK
               : AB_ERR_NOMEM;
}

/* ----- its chain ----- */

static ab_err add_chain(inspection *s)
{
    const char *path = ab_ctl_value(s->ctl, "ca");
    STACK_OF(X509) *roots = NULL;
    if (path == NULL)
        return AB_ERR_OK;
    ab_err e = ab_pki_read_certs(path, &roots, s->err);
    if (e != AB_ERR_OK)
        return e;
    const char *reason = ab_pki_chain_fault(s->certs, roots);
    sk_X509_pop_free(roots, X509_free);
    return add_finding(s, "chain", reason == NULL, reason == NULL ? "ok" : reason) ? AB_ERR_OK
                                                                                   : AB_ERR_NOMEM;
}

/* ----- showing it ----- */

/* Whole numbers are kept as their text. */
static void print_item(const cJSON *item)
{
    printf("%s", item->valuestring == NULL ? "" : item->valuestring);
}

static void print_table(const cJSON *doc)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, doc)
    {
        printf("%-12s ", row->string);
        const cJSON *item;
        if (!cJSON_IsArray(row))
            print_item(row);
        else if (row->child == NULL)
            printf("none");
        else
            cJSON_ArrayForEach(item, row)
            {
                printf("%s", item == row->child ? "" : ", ");
                print_item(item);
            }
        putchar('\n');
    }
}

static int print(const inspection *s)
{
    if (s->ctl->form != AB_CTL_TABLE)
        return ab_ctl_show(s->ctl, s->doc, NULL, NULL);
    print_table(s->doc);
    return ab_pki_end(ab_pki_print(AB_STR(""), s->err), s->err); /* could all be written? */
}

static ab_err inspect(inspection *s)
{
    ab_err e = ab_pki_read_certs(s->ctl->operands[0], &s->certs, s->err);
    if (e != AB_ERR_OK)
        return e;
    s->doc = ab_pki_describe(sk_X509_value(s->certs, 0));
    if (s->doc == NULL || !add_validity(s))
        return AB_ERR_NOMEM;
    e = add_key(s);
    return e == AB_ERR_OK ? add_chain(s) : e;
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    inspection s = {.ctl = ctl, .sound = true, .err = &err};
    ab_err e = inspect(&s);
    int code = e == AB_ERR_OK ? print(&s) : ab_pki_end(e, &err);
    cJSON_Delete(s.doc);
    sk_X509_pop_free(s.certs, X509_free);
    return code == AB_CTL_OK && !s.sound ? AB_CTL_FAILED : code;
}

const ab_ctl_command ab_ctl_pki_inspect = {
    .name = "pki inspect",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Show a certificate, and whether key and CA belong to it",
    .examples = "  argobusctl pki inspect w1.crt --ca ca/ca.crt\n"
                "  argobusctl pki inspect w1.crt -o json\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .shows = true,
    .run = run,
};
