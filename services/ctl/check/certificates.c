/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/certificate.h"
#include "services/ctl/check/parts.h"
#include "services/ctl/pki/describe.h"
#include "services/ctl/pki/pair.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

#define DAY_S     86400
#define SOON_DAYS 30
#define RENEW     "renew it: argobusctl pki renew FILE"

typedef struct {
    const ab_setup *setup;
    ab_findings *out;
    const char *path;
    STACK_OF(X509) * certs;
    X509 *cert; /* the first */
} subject;

static void check_key(const subject *s)
{
    ab_error err = {0};
    EVP_PKEY *key = NULL;
    const char *path = ab_setup_tls(s->setup, "key");
    if (path == NULL)
        return; /* refused with the configuration */
    if (ab_pki_read_key(path, &key, &err) != AB_ERR_OK)
        ab_findings_add(s->out, AB_FOUND_ERROR, path,
                        "make it readable for the user of the program, without a passphrase", "%s",
                        err.text);
    else if (X509_check_private_key(s->cert, key) != 1)
        ab_findings_add(s->out, AB_FOUND_ERROR, path, "name the key that was made with it",
                        "the key belongs to another certificate than %s", s->path);
    else
        ab_findings_add(s->out, AB_FOUND_OK, path, NULL, "the key belongs to the certificate");
    EVP_PKEY_free(key);
    ERR_clear_error();
}

static void check_dates(const subject *s)
{
    int64_t left_s = ab_certificate_expires_s(s->cert) - (int64_t)time(NULL);
    if (left_s <= 0)
        ab_findings_add(s->out, AB_FOUND_ERROR, s->path, RENEW, "the certificate has expired");
    else if (X509_cmp_current_time(X509_get0_notBefore(s->cert)) > 0)
        ab_findings_add(s->out, AB_FOUND_ERROR, s->path, "synchronise the clock of this host",
                        "the certificate is not valid yet");
    else if (left_s < (int64_t)SOON_DAYS * DAY_S)
        ab_findings_add(s->out, AB_FOUND_WARNING, s->path, RENEW,
                        "the certificate expires in %lld days", (long long)(left_s / DAY_S));
    else
        ab_findings_add(s->out, AB_FOUND_OK, s->path, NULL,
                        "the certificate is valid for %lld days", (long long)(left_s / DAY_S));
}

static void check_usage(const subject *s, uint32_t wanted, const char *name)
{
    if ((X509_get_extended_key_usage(s->cert) & (wanted | XKU_ANYEKU)) == 0)
        ab_findings_add(s->out, AB_FOUND_ERROR, s->path, "issue another one: argobusctl pki issue",
                        "the extended key usage of the certificate lacks %s", name);
}

static void check_usages(const subject *s)
{
    if (s->setup->is_agent || s->setup->is_kafka)
        check_usage(s, XKU_SSL_CLIENT, "clientAuth");
    if (!s->setup->is_agent && !s->setup->is_kafka)
        check_usage(s, XKU_SSL_SERVER, "serverAuth");
    ERR_clear_error();
}

/* By the rule that principals have unless they are told otherwise: so no more than a warning. */
static void check_name(const subject *s)
{
    ab_identity_rule *rule = NULL;
    if (!s->setup->is_agent)
        return;
    ab_buf name = ab_buf_up_to(4096);
    if (ab_identity_rule_new(AB_STR("subject:CN=([^,]+)"), &rule, NULL) != AB_ERR_OK ||
        ab_identity_rule_name(rule, s->cert, &name) != AB_ERR_OK ||
        !ab_str_is(ab_buf_str(&name), s->setup->agent))
        ab_findings_add(s->out, AB_FOUND_WARNING, s->path,
                        "issue one for it (argobusctl pki issue agent), unless "
                        "grpc.auth.mtls.identity or the brokers' rule for names says otherwise",
                        "the common name of the certificate is \"%.*s\", the agent's name is %s",
                        AB_STR_ARG(ab_buf_str(&name)), s->setup->agent);
    ab_identity_rule_free(rule);
    ab_buf_fini(&name);
}

/* The peer decides whom it trusts, and mostly trusts the same CA. */
static void check_chain(const subject *s)
{
    ab_error err = {0};
    STACK_OF(X509) *roots = NULL;
    const char *path = ab_setup_tls(s->setup, "ca");
    if (path == NULL)
        return;
    if (ab_pki_read_certs(path, &roots, &err) != AB_ERR_OK) {
        ab_findings_add(s->out, AB_FOUND_ERROR, path, "name a PEM file of certificates", "%s",
                        err.text);
        return;
    }
    const char *reason = ab_pki_chain_fault(s->certs, roots);
    sk_X509_pop_free(roots, X509_free);
    if (reason == NULL)
        ab_findings_add(s->out, AB_FOUND_OK, s->path, NULL, "signed by the CA in %s", path);
    else
        ab_findings_add(s->out, AB_FOUND_WARNING, s->path,
                        "issue one with this CA, unless the other side trusts another CA",
                        "not signed by the CA in %s: %s", path, reason);
}

void ab_check_certificates(const ab_setup *setup, ab_findings *out)
{
    ab_error err = {0};
    subject s = {.setup = setup, .out = out, .path = ab_setup_tls(setup, "cert")};
    if (s.path == NULL || ab_setup_is_insecure(setup))
        return;
    if (ab_pki_read_certs(s.path, &s.certs, &err) != AB_ERR_OK) {
        ab_findings_add(out, AB_FOUND_ERROR, s.path, "name a PEM file of certificates", "%s",
                        err.text);
        return;
    }
    s.cert = sk_X509_value(s.certs, 0);
    check_key(&s);
    check_dates(&s);
    check_usages(&s);
    check_name(&s);
    check_chain(&s);
    sk_X509_pop_free(s.certs, X509_free);
}
