/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/certificate.h"

#include "base/core/pattern.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <time.h>

/* What an expression looks at. */
#define SUBJECT_MAX 4096

struct ab_identity_rule {
    bool by_uri;
    ab_expression *expression;
};

ab_err ab_certificate_fingerprint(const X509 *cert, uint8_t out[AB_FINGERPRINT_BYTES])
{
    unsigned int len = 0;
    if (X509_digest(cert, EVP_sha256(), out, &len) != 1 || len != AB_FINGERPRINT_BYTES) {
        ERR_clear_error();
        return AB_ERR_FATAL;
    }
    return AB_ERR_OK;
}

int64_t ab_certificate_expires_s(const X509 *cert)
{
    struct tm parts = {0};
    const ASN1_TIME *end = X509_get0_notAfter(cert);
    return end != NULL && ASN1_TIME_to_tm(end, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

/* The names that RFC 4514 and Go know; all others are written as numbers. */
static const struct {
    int nid;
    const char *name;
} known_types[] = {
    {NID_commonName, "CN"},
    {NID_organizationName, "O"},
    {NID_organizationalUnitName, "OU"},
    {NID_countryName, "C"},
    {NID_localityName, "L"},
    {NID_stateOrProvinceName, "ST"},
    {NID_streetAddress, "STREET"},
    {NID_postalCode, "POSTALCODE"},
    {NID_serialNumber, "SERIALNUMBER"},
    {NID_domainComponent, "DC"},
    {NID_userId, "UID"},
};

static void put_type(const ASN1_OBJECT *type, ab_buf *out)
{
    char number[128];
    int nid = OBJ_obj2nid(type);
    for (size_t i = 0; i < sizeof(known_types) / sizeof(known_types[0]); i++) {
        if (known_types[i].nid == nid) {
            ab_buf_puts(out, known_types[i].name);
            return;
        }
    }
    (void)OBJ_obj2txt(number, sizeof(number), type, 1);
    ab_buf_puts(out, number);
}

static void put_value(ab_str value, ab_buf *out)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        bool edge = i == 0 || i + 1 == value.len;
        if (c < ' ' || c == 0x7f || strchr(",+\"\\<>;=", c) != NULL || (edge && c == ' ') ||
            (i == 0 && c == '#'))
            ab_buf_printf(out, "\\%02X", c);
        else
            ab_buf_putc(out, (char)c);
    }
}

static ab_err put_entry(const X509_NAME_ENTRY *entry, ab_buf *out)
{
    unsigned char *utf8 = NULL;
    put_type(X509_NAME_ENTRY_get_object(entry), out);
    ab_buf_putc(out, '=');
    int len = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
    if (len < 0) {
        ERR_clear_error();
        return AB_ERR_PARSE;
    }
    put_value((ab_str){(const char *)utf8, (size_t)len}, out);
    OPENSSL_free(utf8);
    return ab_buf_status(out);
}

ab_err ab_certificate_subject(const X509 *cert, ab_buf *out)
{
    const X509_NAME *subject = X509_get_subject_name(cert);
    int set = -1;
    for (int i = X509_NAME_entry_count(subject) - 1; i >= 0; i--) {
        const X509_NAME_ENTRY *entry = X509_NAME_get_entry(subject, i);
        if (set >= 0)
            ab_buf_putc(out, set == X509_NAME_ENTRY_set(entry) ? '+' : ',');
        set = X509_NAME_ENTRY_set(entry);
        ab_err e = put_entry(entry, out);
        if (e != AB_ERR_OK)
            return e;
    }
    return ab_buf_status(out);
}

bool ab_certificate_each_uri(const X509 *cert, bool (*fn)(void *arg, ab_str uri), void *arg)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    bool found = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !found; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_URI)
            continue;
        const ASN1_STRING *uri = name->d.uniformResourceIdentifier;
        found = fn(arg, (ab_str){(const char *)ASN1_STRING_get0_data(uri),
                                 (size_t)ASN1_STRING_length(uri)});
    }
    GENERAL_NAMES_free(names);
    ERR_clear_error();
    return found;
}

/* ----- whose it is ----- */

ab_err ab_identity_rule_new(ab_str text, ab_identity_rule **out, ab_error *err)
{
    ab_str kind = ab_str_cut(&text, ':');
    bool by_uri = ab_str_is(kind, "uri");
    if (text.ptr == NULL || (!by_uri && !ab_str_is(kind, "subject")))
        return ab_fail(err, AB_ERR_INVALID, "expected subject:EXPRESSION or uri:EXPRESSION");
    ab_identity_rule *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for a rule");
    r->by_uri = by_uri;
    ab_err e = ab_expression_new(text, &r->expression, err);
    if (e == AB_ERR_OK)
        *out = r;
    else
        free(r);
    return e;
}

void ab_identity_rule_free(ab_identity_rule *r)
{
    if (r == NULL)
        return;
    ab_expression_free(r->expression);
    free(r);
}

typedef struct {
    const ab_identity_rule *rule;
    ab_buf *out;
} search;

static bool take_uri(void *arg, ab_str uri)
{
    const search *s = arg;
    ab_str name = ab_expression_first_group(s->rule->expression, uri);
    if (name.ptr != NULL)
        ab_buf_put(s->out, name);
    return name.ptr != NULL;
}

static ab_err name_from_subject(const ab_identity_rule *r, const X509 *cert, ab_buf *out)
{
    ab_buf subject = ab_buf_up_to(SUBJECT_MAX);
    ab_err e = ab_certificate_subject(cert, &subject);
    ab_str name = e == AB_ERR_OK ? ab_expression_first_group(r->expression, ab_buf_str(&subject))
                                 : AB_STR_NONE;
    if (name.ptr != NULL)
        ab_buf_put(out, name);
    else if (e != AB_ERR_NOMEM)
        e = AB_ERR_DENIED;
    ab_buf_fini(&subject);
    return e == AB_ERR_OK ? ab_buf_status(out) : e;
}

ab_err ab_identity_rule_name(const ab_identity_rule *r, const X509 *cert, ab_buf *out)
{
    search s = {r, out};
    if (!r->by_uri)
        return name_from_subject(r, cert, out);
    return ab_certificate_each_uri(cert, take_uri, &s) ? ab_buf_status(out) : AB_ERR_DENIED;
}
