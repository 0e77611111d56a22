/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of revoked certificates: "revoke" adds to it, "unrevoke" takes from it, "revoked" shows
 * it. It is a file, which principals read again when it changes, or a ConfigMap, which they watch.
 */
#include "base/core/file.h"
#include "base/crypto/revoked.h"
#include "services/ctl/output.h"
#include "services/ctl/pki/blocklist.h"
#include "services/ctl/pki/change.h"
#include "services/ctl/pki/options.h"
#include "services/ctl/pki/pair.h"
#include "services/ctl/pki/pki.h"

#include <stdio.h>
#include <unistd.h>

#define LIST_MAX  ((size_t)8 * 1024 * 1024)
#define LIST_MODE 0644

static const ab_ctl_flag flags[] = {
    {"file", "FILE", "the list, which option grpc.auth.revoked names (default: revoked)"},
    AB_PKI_FLAGS_BLOCKLIST,
};

static const char *list_path(const ab_ctl *ctl)
{
    return ab_pki_value(ctl, "file", "revoked");
}

static ab_err read_certificate(const char *path, ab_pki_named *out, ab_error *err)
{
    STACK_OF(X509) *certs = NULL;
    ab_err e = ab_pki_read_certs(path, &certs, err);
    if (e != AB_ERR_OK)
        return e;
    ab_buf subject = ab_buf_up_to(AB_REVOCATION_SUBJECT - 1);
    e = ab_certificate_fingerprint(sk_X509_value(certs, 0), out->hash);
    if (e == AB_ERR_OK && ab_certificate_subject(sk_X509_value(certs, 0), &subject) == AB_ERR_OK &&
        ab_str_is_printable(ab_buf_str(&subject)))
        snprintf(out->subject, sizeof(out->subject), "%.*s", AB_STR_ARG(ab_buf_str(&subject)));
    ab_buf_fini(&subject);
    sk_X509_pop_free(certs, X509_free);
    return e;
}

static ab_err name(const char *operand, ab_pki_named *out, ab_error *err)
{
    *out = (ab_pki_named){0};
    ab_err e = AB_ERR_OK;
    if (!ab_fingerprint_parse(ab_str_of(operand), out->hash))
        e = read_certificate(operand, out, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "neither a SHA-256 fingerprint nor a certificate");
    ab_fingerprint_format(out->hash, out->hex);
    return e;
}

static ab_err name_all(const ab_ctl *ctl, ab_pki_all_named *out, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    out->count = 0;
    for (size_t i = 0; i < ctl->operand_count && e == AB_ERR_OK; i++)
        e = name(ctl->operands[i], &out->cert[out->count++], err);
    return e;
}

/* One that principals would refuse is not made longer. */
static ab_err read_list(const char *path, ab_buf *text, ab_error *err)
{
    ab_revoked all;
    ab_err e = ab_file_read(path, text, NULL, err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_revoked_parse(ab_buf_str(text), &all, err);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "%s", path);
        return e;
    }
    ab_revoked_fini(&all);
    return AB_ERR_OK;
}

static ab_err write_list(const char *path, const ab_buf *text, bool is_new, ab_error *err)
{
    if (ab_buf_status(text) != AB_ERR_OK)
        return ab_fail(err, ab_buf_status(text), "%s: %s", path, ab_err_text(ab_buf_status(text)));
    return is_new ? ab_pki_file_create(path, ab_buf_str(text), LIST_MODE, err)
                  : ab_pki_file_replace(path, ab_buf_str(text), err);
}

/* Read the list and write it again, while nobody else does. */
static ab_err change_list(const char *path, ab_pki_all_named *certs,
                          ab_err (*work)(const char *path, ab_pki_all_named *certs, ab_buf *text,
                                         ab_error *err),
                          ab_error *err)
{
    ab_pki_change change;
    ab_err e = ab_pki_change_begin(path, &change, err);
    if (e != AB_ERR_OK)
        return e;
    ab_buf text = ab_buf_up_to(LIST_MAX);
    e = work(path, certs, &text, err);
    ab_buf_fini(&text);
    ab_pki_change_end(&change);
    return e;
}

/* ----- revoke ----- */

static void add(const ab_pki_named *cert, ab_buf *text)
{
    char note[AB_REVOCATION_NOTE];
    ab_revocations_note(cert->subject, note);
    ab_revocations_add(text, cert->hash, note);
}

/* After the list was written. */
static void tell(const ab_pki_named *cert, const char *what)
{
    printf("%s %s%s%s\n", what, cert->hex, cert->subject[0] == '\0' ? "" : " ", cert->subject);
}

static ab_err add_certs(const char *path, ab_pki_all_named *certs, ab_buf *text, ab_error *err)
{
    bool is_new = access(path, F_OK) != 0;
    ab_err e = is_new ? AB_ERR_OK : read_list(path, text, err);
    if (e != AB_ERR_OK)
        return e;
    size_t before = text->len;
    for (size_t i = 0; i < certs->count; i++) {
        ab_pki_named *cert = &certs->cert[i];
        cert->was_there = ab_revocations_has(ab_buf_str(text), cert->hash);
        if (!cert->was_there)
            add(cert, text);
    }
    return text->len == before ? AB_ERR_OK : write_list(path, text, is_new, err);
}

static ab_err revoke_all(const ab_ctl *ctl, ab_pki_all_named *certs, ab_error *err)
{
    bool in_cluster = false;
    ab_err e = ab_pki_blocklist_is_meant(ctl, &in_cluster, err);
    if (e == AB_ERR_OK)
        e = name_all(ctl, certs, err);
    if (e != AB_ERR_OK)
        return e;
    return in_cluster ? ab_pki_blocklist_add(ctl, certs, err)
                      : change_list(list_path(ctl), certs, add_certs, err);
}

static int run_revoke(const ab_ctl *ctl)
{
    ab_error err = {0};
    ab_pki_all_named certs = {.count = 0};
    ab_err e = revoke_all(ctl, &certs, &err);
    for (size_t i = 0; i < certs.count && e == AB_ERR_OK; i++)
        tell(&certs.cert[i], certs.cert[i].was_there ? "already revoked" : "revoked");
    return ab_pki_end(e, &err);
}

const ab_ctl_command ab_ctl_revoke = {
    .name = "revoke",
    .operands = "CERT|FINGERPRINT...",
    .operands_min = 1,
    .operands_max = AB_CTL_OPERANDS_MAX,
    .summary = "Add certificates to the list of those that principals refuse",
    .examples = "  argobusctl revoke w1.crt --file /etc/argobus/revoked\n"
                "  argobusctl revoke w1.crt --configmap --context hub\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .run = run_revoke,
};

/* ----- unrevoke ----- */

/* @return NOTFOUND: one was not revoked */
static ab_err drop_certs(const char *path, ab_pki_all_named *certs, ab_buf *text, ab_error *err)
{
    ab_buf left;
    ab_err e = read_list(path, text, err);
    for (size_t i = 0; i < certs->count && e == AB_ERR_OK; i++) {
        ab_buf_init(&left, LIST_MAX);
        if (ab_revocations_drop(ab_buf_str(text), certs->cert[i].hash, &left) == 0)
            e = ab_fail(err, AB_ERR_NOTFOUND, "%s is not revoked; nothing was changed",
                        certs->cert[i].hex);
        ab_buf_fini(text);
        *text = left;
    }
    return e == AB_ERR_OK ? write_list(path, text, false, err) : e;
}

/* @param named  set once it is known which certificates are meant */
static ab_err unrevoke_all(const ab_ctl *ctl, ab_pki_all_named *certs, bool *named, ab_error *err)
{
    bool in_cluster = false;
    ab_err e = ab_pki_blocklist_is_meant(ctl, &in_cluster, err);
    if (e == AB_ERR_OK)
        e = name_all(ctl, certs, err);
    *named = e == AB_ERR_OK;
    if (e != AB_ERR_OK)
        return e;
    return in_cluster ? ab_pki_blocklist_drop(ctl, certs, err)
                      : change_list(list_path(ctl), certs, drop_certs, err);
}

static int run_unrevoke(const ab_ctl *ctl)
{
    ab_error err = {0};
    bool named_all = false;
    ab_pki_all_named certs = {.count = 0};
    ab_err e = unrevoke_all(ctl, &certs, &named_all, &err);
    for (size_t i = 0; i < certs.count && e == AB_ERR_OK; i++)
        tell(&certs.cert[i], "no longer revoked");
    if (named_all && e == AB_ERR_NOTFOUND)
        return ab_ctl_fail(AB_CTL_NOT_FOUND, "%s", err.text);
    return ab_pki_end(e, &err);
}

const ab_ctl_command ab_ctl_unrevoke = {
    .name = "unrevoke",
    .operands = "CERT|FINGERPRINT...",
    .operands_min = 1,
    .operands_max = AB_CTL_OPERANDS_MAX,
    .summary = "Remove certificates from the list of those that principals refuse",
    .examples = "  argobusctl unrevoke w1.crt --file /etc/argobus/revoked\n"
                "  argobusctl unrevoke w1.crt --configmap --context hub\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .run = run_unrevoke,
};

/* ----- revoked ----- */

static const ab_ctl_column columns[] = {{"FINGERPRINT", "fingerprint", NULL},
                                        {"NOTE", "note", NULL}};
static const ab_ctl_table table = {columns, sizeof(columns) / sizeof(*columns),
                                   "no certificate is revoked"};

static ab_err list_all(ab_str text, cJSON *rows, ab_error *err)
{
    ab_text_lines lines = {.rest = text};
    ab_revocation entry;
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && ab_revocations_next(&lines, &entry))
        e = ab_revocations_put_row(entry.hash, entry.note, rows, err);
    return e;
}

static ab_err list_file(const char *path, cJSON *rows, ab_error *err)
{
    ab_buf text = ab_buf_up_to(LIST_MAX);
    ab_err e = read_list(path, &text, err);
    if (e == AB_ERR_OK)
        e = list_all(ab_buf_str(&text), rows, err);
    ab_buf_fini(&text);
    return e;
}

static int run_revoked(const ab_ctl *ctl)
{
    ab_error err = {0};
    bool in_cluster = false;
    cJSON *doc = cJSON_CreateObject();
    cJSON *rows = doc == NULL ? NULL : cJSON_AddArrayToObject(doc, "revoked");
    ab_err e = rows == NULL ? AB_ERR_NOMEM : ab_pki_blocklist_is_meant(ctl, &in_cluster, &err);
    if (e == AB_ERR_OK)
        e = in_cluster ? ab_pki_blocklist_list(ctl, rows, &err)
                       : list_file(list_path(ctl), rows, &err);
    int code = e == AB_ERR_OK ? ab_ctl_show(ctl, doc, rows, &table) : ab_pki_end(e, &err);
    cJSON_Delete(doc);
    return code;
}

const ab_ctl_command ab_ctl_revoked = {
    .name = "revoked",
    .operands = "",
    .summary = "List the certificates that principals refuse",
    .examples = "  argobusctl revoked --file /etc/argobus/revoked\n"
                "  argobusctl revoked --configmap --context hub\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .shows = true,
    .run = run_revoked,
};
