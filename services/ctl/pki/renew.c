/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/authority.h"
#include "services/ctl/pki/key.h"
#include "services/ctl/pki/options.h"
#include "services/ctl/pki/pair.h"
#include "services/ctl/pki/pki.h"

#include <openssl/err.h>
#include <stdio.h>

static const ab_ctl_flag flags[] = {
    AB_PKI_FLAG_CA_DIR,
    {"days", "N", "how long it is valid (default: as long as the former)"},
};

/* The former certificate, and what takes its place. */
typedef struct {
    const ab_ctl *ctl;
    ab_pki_paths paths;
    STACK_OF(X509) * old;
    GENERAL_NAMES *names;
    ab_pki_request request;
    ab_pki_authority ca;
    EVP_PKEY *key;
    ab_buf cert_pem;
    ab_buf key_pem;
    ab_error *err;
} renewed;

static X509 *former(const renewed *r)
{
    return sk_X509_value(r->old, 0);
}

/* A certificate without extended key usage may be used for everything. */
static unsigned usage_of(X509 *cert)
{
    uint32_t allowed = X509_get_extended_key_usage(cert);
    return ((allowed & XKU_SSL_CLIENT) != 0 ? AB_PKI_CLIENT : 0U) |
           ((allowed & XKU_SSL_SERVER) != 0 ? AB_PKI_SERVER : 0U);
}

static int64_t days_of(const X509 *cert)
{
    int days = 0;
    int seconds = 0;
    if (ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(cert), X509_get0_notAfter(cert)) != 1 ||
        days < 1)
        return 1;
    return days;
}

static ab_err read_former(renewed *r)
{
    const char *path = r->ctl->operands[0];
    ab_err e = ab_pki_paths_of(path, &r->paths, r->err);
    if (e == AB_ERR_OK)
        e = ab_pki_read_certs(path, &r->old, r->err);
    if (e != AB_ERR_OK)
        return e;
    X509 *cert = former(r);
    if (X509_check_ca(cert) != 0)
        return ab_fail(r->err, AB_ERR_INVALID,
                       "%s is the certificate of a CA: make a new CA in another folder (pki init)",
                       path);
    r->names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    r->request.subject = X509_get_subject_name(cert);
    r->request.names = r->names;
    r->request.usage = usage_of(cert);
    ERR_clear_error();
    if (r->request.usage == 0)
        return ab_fail(r->err, AB_ERR_INVALID,
                       "%s is for neither clients nor servers: issue another one (pki issue)",
                       path);
    return ab_pki_days(r->ctl, days_of(cert), &r->request.days, r->err);
}

static ab_err make(renewed *r)
{
    X509 *cert = NULL;
    ab_err e = ab_pki_authority_read(ab_pki_value(r->ctl, "ca-dir", "ca"), true, &r->ca, r->err);
    if (e == AB_ERR_OK)
        e = ab_pki_key_new_like(X509_get0_pubkey(former(r)), &r->key, r->err);
    if (e == AB_ERR_OK)
        e = ab_pki_sign(&r->request, r->key, &r->ca.signer, &cert, r->err);
    if (e == AB_ERR_OK)
        e = ab_pki_chain_pem(&r->ca, cert, &r->cert_pem);
    if (e == AB_ERR_OK)
        e = ab_pki_key_pem(r->key, &r->key_pem);
    X509_free(cert);
    return e;
}

static ab_err replace(renewed *r)
{
    ab_err e =
        ab_pki_pair_replace(&r->paths, ab_buf_str(&r->cert_pem), ab_buf_str(&r->key_pem), r->err);
    if (e == AB_ERR_OK)
        printf("replaced %s and %s\n", r->paths.cert, r->paths.key);
    return e;
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    renewed r = {.ctl = ctl, .err = &err};
    ab_buf_init(&r.cert_pem, AB_PKI_TEXT_MAX);
    ab_buf_init_secret(&r.key_pem, AB_PKI_TEXT_MAX);
    ab_err e = read_former(&r);
    if (e == AB_ERR_OK)
        e = make(&r);
    if (e == AB_ERR_OK)
        e = replace(&r);
    ab_buf_fini(&r.cert_pem);
    ab_buf_wipe(&r.key_pem);
    ab_pki_authority_fini(&r.ca);
    EVP_PKEY_free(r.key);
    GENERAL_NAMES_free(r.names);
    sk_X509_pop_free(r.old, X509_free);
    return ab_pki_end(e, &err);
}

const ab_ctl_command ab_ctl_pki_renew = {
    .name = "pki renew",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Replace a certificate and its key by new ones with the same names",
    .examples = "  argobusctl pki renew w1.crt\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .run = run,
};
