/* SPDX-License-Identifier: Apache-2.0
 *
 * Names in a certificate may have been chosen by others: what is not printable is not printed.
 */
#include "services/ctl/pki/describe.h"

#include "services/ctl/pki/key.h"
#include "services/ctl/pki/revocations.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

#define TEXT_MAX 65536
#define DAY_S    86400

static bool add_name(cJSON *doc, const char *member, const X509_NAME *name)
{
    char *text = NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    bool printed = bio != NULL && X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0;
    long len = printed ? BIO_get_mem_data(bio, &text) : 0;
    bool added =
        printed && ab_doc_add_str(doc, member, (ab_str){text == NULL ? "" : text, (size_t)len});
    BIO_free(bio);
    return added;
}

static bool add_serial(cJSON *doc, const X509 *cert)
{
    BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
    char *hex = number == NULL ? NULL : BN_bn2hex(number);
    bool added = hex != NULL && ab_doc_add_str(doc, "serial", ab_str_of(hex));
    OPENSSL_free(hex);
    BN_free(number);
    return added;
}

static bool push_text(cJSON *list, const char *text)
{
    cJSON *item = cJSON_CreateString(text);
    return item != NULL && cJSON_AddItemToArray(list, item);
}

static void put_address(const ASN1_STRING *value, ab_buf *out)
{
    char text[INET6_ADDRSTRLEN] = "?";
    int len = ASN1_STRING_length(value);
    if (len == 4 || len == 16)
        (void)inet_ntop(len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(value), text,
                        sizeof(text));
    ab_buf_printf(out, "IP:%s", text);
}

static void put_text(const char *kind, const ASN1_STRING *value, ab_buf *out)
{
    ab_str text = {(const char *)ASN1_STRING_get0_data(value), (size_t)ASN1_STRING_length(value)};
    if (ab_str_is_printable(text))
        ab_buf_printf(out, "%s:%.*s", kind, AB_STR_ARG(text));
    else
        ab_buf_printf(out, "%s: (not printable)", kind);
}

static void put_general_name(const GENERAL_NAME *name, ab_buf *out)
{
    int type;
    const void *value = GENERAL_NAME_get0_value(name, &type);
    switch (type) {
    case GEN_DNS:
        put_text("DNS", value, out);
        break;
    case GEN_URI:
        put_text("URI", value, out);
        break;
    case GEN_EMAIL:
        put_text("email", value, out);
        break;
    case GEN_IPADD:
        put_address(value, out);
        break;
    default:
        ab_buf_puts(out, "(another type of name)");
    }
}

static bool push_name(cJSON *list, const GENERAL_NAME *name)
{
    ab_buf text = ab_buf_up_to(TEXT_MAX);
    put_general_name(name, &text);
    bool pushed = ab_buf_status(&text) == AB_ERR_OK && push_text(list, text.ptr);
    ab_buf_fini(&text);
    return pushed;
}

static bool add_names(cJSON *doc, const X509 *cert)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "names");
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    bool added = list != NULL;
    for (int i = 0; added && i < sk_GENERAL_NAME_num(names); i++)
        added = push_name(list, sk_GENERAL_NAME_value(names, i));
    GENERAL_NAMES_free(names);
    return added;
}

static bool add_usage(cJSON *doc, X509 *cert)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "usage");
    uint32_t allowed = X509_get_extended_key_usage(cert);
    bool any = (X509_get_extension_flags(cert) & EXFLAG_XKUSAGE) == 0;
    return list != NULL && (X509_check_ca(cert) == 0 || push_text(list, "CA")) &&
           (any || (allowed & XKU_SSL_CLIENT) == 0 || push_text(list, "clientAuth")) &&
           (any || (allowed & XKU_SSL_SERVER) == 0 || push_text(list, "serverAuth"));
}

static bool add_time(cJSON *doc, const char *member, const ASN1_TIME *when)
{
    struct tm parts = {0};
    char text[32] = "";
    return ASN1_TIME_to_tm(when, &parts) == 1 &&
           strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) > 0 &&
           ab_doc_add_str(doc, member, ab_str_of(text));
}

/* Rounded down: 0 on the last day, negative afterwards. */
static int64_t days_left(const X509 *cert)
{
    int64_t left_s = ab_certificate_expires_s(cert) - (int64_t)time(NULL);
    return left_s >= 0 ? left_s / DAY_S : -1 - (-left_s - 1) / DAY_S;
}

static bool add_key(cJSON *doc, X509 *cert)
{
    char name[AB_PKI_KEY_NAME_MAX] = "cannot be read";
    const EVP_PKEY *key = X509_get0_pubkey(cert);
    if (key != NULL)
        ab_pki_key_name(key, name);
    return ab_doc_add_str(doc, "key", ab_str_of(name));
}

static bool add_fingerprint(cJSON *doc, const X509 *cert)
{
    uint8_t hash[AB_FINGERPRINT_BYTES];
    char hex[AB_FINGERPRINT_TEXT];
    if (ab_certificate_fingerprint(cert, hash) != AB_ERR_OK)
        return false;
    ab_fingerprint_format(hash, hex);
    return ab_doc_add_str(doc, "fingerprint", ab_str_of(hex));
}

cJSON *ab_pki_describe(X509 *cert)
{
    cJSON *doc = cJSON_CreateObject();
    bool complete = doc != NULL && add_name(doc, "subject", X509_get_subject_name(cert)) &&
                    add_name(doc, "issuer", X509_get_issuer_name(cert)) && add_serial(doc, cert) &&
                    add_names(doc, cert) && add_usage(doc, cert) && add_key(doc, cert) &&
                    add_time(doc, "notBefore", X509_get0_notBefore(cert)) &&
                    add_time(doc, "notAfter", X509_get0_notAfter(cert)) &&
                    ab_doc_add_i64(doc, "daysLeft", days_left(cert)) && add_fingerprint(doc, cert);
    ERR_clear_error();
    if (complete)
        return doc;
    cJSON_Delete(doc);
    return NULL;
}

const char *ab_pki_chain_fault(STACK_OF(X509) * certs, STACK_OF(X509) * roots)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    const char *fault = "out of memory";
    if (ctx != NULL && X509_STORE_CTX_init(ctx, NULL, sk_X509_value(certs, 0), certs) == 1) {
        X509_STORE_CTX_set0_trusted_stack(ctx, roots);
        X509_STORE_CTX_set_flags(ctx, X509_V_FLAG_NO_CHECK_TIME);
        fault = X509_verify_cert(ctx) == 1
                    ? NULL
                    : X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx));
    }
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
    return fault;
}
