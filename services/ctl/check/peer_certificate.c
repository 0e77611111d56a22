/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/peer_certificate.h"

#include "base/crypto/certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

#define NAMES_MAX  1024 /* of a certificate; further names are left out */
#define REMEDY_MAX 1024

/* ----- keeping what is refused ----- */

static int keep_refused(int accepted, X509_STORE_CTX *ctx)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(ctx, SSL_get_ex_data_X509_STORE_CTX_idx());
    ab_peer_certificate *p = SSL_get_app_data(ssl);
    X509 *cert = X509_STORE_CTX_get_current_cert(ctx);
    if (!accepted && p->cert == NULL && cert != NULL && X509_up_ref(cert) == 1)
        *p = (ab_peer_certificate){cert, X509_STORE_CTX_get_error(ctx)};
    return accepted;
}

void ab_peer_certificate_watch(SSL *ssl, ab_peer_certificate *out)
{
    *out = (ab_peer_certificate){0};
    SSL_set_app_data(ssl, out);
    SSL_set_verify(ssl, SSL_get_verify_mode(ssl), keep_refused);
}

void ab_peer_certificate_fini(ab_peer_certificate *p)
{
    X509_free(p->cert);
    *p = (ab_peer_certificate){0};
}

/* ----- its names ----- */

/* The text goes to a terminal. */
static void put_dns(const ASN1_STRING *name, ab_buf *out)
{
    const unsigned char *text = ASN1_STRING_get0_data(name);
    for (int i = 0; i < ASN1_STRING_length(name); i++)
        ab_buf_putc(out, text[i] > ' ' && text[i] < 0x7f ? (char)text[i] : '?');
}

static void put_address(const ASN1_STRING *address, ab_buf *out)
{
    char text[INET6_ADDRSTRLEN];
    int family = ASN1_STRING_length(address) == sizeof(struct in_addr) ? AF_INET : AF_INET6;
    if (family == AF_INET6 && ASN1_STRING_length(address) != sizeof(struct in6_addr))
        return;
    if (inet_ntop(family, ASN1_STRING_get0_data(address), text, sizeof(text)) != NULL)
        ab_buf_puts(out, text);
}

static void put_alternatives(const X509 *cert, ab_buf *out)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_DNS && name->type != GEN_IPADD)
            continue;
        ab_buf_puts(out, ab_buf_str(out).len == 0 ? "" : ", ");
        if (name->type == GEN_DNS)
            put_dns(name->d.dNSName, out);
        else
            put_address(name->d.iPAddress, out);
    }
    GENERAL_NAMES_free(names);
    ERR_clear_error();
}

static void put_subject(const X509 *cert, ab_buf *out)
{
    if (ab_certificate_subject(cert, out) == AB_ERR_OK && ab_buf_str(out).len > 0)
        return;
    ab_buf_clear(out);
    ab_buf_puts(out, "(no readable subject)");
}

static void explain_name(const ab_peer_certificate *p, const ab_setup *s, const char *where,
                         const char *host, ab_findings *out)
{
    char remedy[REMEDY_MAX];
    ab_buf names = ab_buf_up_to(NAMES_MAX);
    put_alternatives(p->cert, &names);
    if (ab_buf_str(&names).len == 0)
        put_subject(p->cert, &names);
    if (s->is_kafka)
        snprintf(
            remedy, sizeof(remedy),
            "use one of these names in kafka.brokers and in the brokers' advertised.listeners, "
            "or give the broker a certificate for %s",
            host);
    else
        snprintf(remedy, sizeof(remedy),
                 "set grpc.tls.server-name to one of these names, or give the principal a "
                 "certificate for %s: argobusctl pki issue principal",
                 host);
    ab_findings_add(out, AB_FOUND_ERROR, where, remedy,
                    "TLS: the certificate is not for %s, but for %.*s", host,
                    AB_STR_ARG(ab_buf_str(&names)));
    ab_buf_fini(&names);
}

/* ----- its dates ----- */

static void explain_date(const ab_peer_certificate *p, const char *renew, const char *where,
                         ab_findings *out)
{
    bool expired = p->reason == X509_V_ERR_CERT_HAS_EXPIRED;
    char date[32] = "an unreadable date";
    struct tm tm;
    ab_buf subject = ab_buf_up_to(NAMES_MAX);
    put_subject(p->cert, &subject);
    if (ASN1_TIME_to_tm(expired ? X509_get0_notAfter(p->cert) : X509_get0_notBefore(p->cert),
                        &tm) == 1)
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
    ab_findings_add(out, AB_FOUND_ERROR, where,
                    expired ? renew : "synchronise the clock of this host (NTP)",
                    expired ? "TLS: the certificate of %.*s has expired: it was valid until %s"
                            : "TLS: the certificate of %.*s is not valid yet: it is valid from %s",
                    AB_STR_ARG(ab_buf_str(&subject)), date);
    ab_buf_fini(&subject);
}

static const char *peer_remedy(const ab_setup *s)
{
    return s->is_kafka ? "renew it at the brokers; if it is valid, correct the clock of this host"
                       : "renew it at the principal (argobusctl pki renew FILE); if it is valid, "
                         "correct the clock of this host";
}

bool ab_own_certificate_explain(const SSL *ssl, const ab_setup *s, ab_findings *out)
{
    ab_peer_certificate own = {SSL_get_certificate(ssl), X509_V_ERR_CERT_HAS_EXPIRED};
    if (own.cert == NULL || X509_cmp_current_time(X509_get0_notAfter(own.cert)) >= 0)
        return false;
    explain_date(&own,
                 "renew it (argobusctl pki renew FILE); if it is valid, correct the clock of this "
                 "host",
                 ab_setup_tls(s, "cert"), out);
    return true;
}

bool ab_peer_certificate_explain(const ab_peer_certificate *p, const ab_setup *s, const char *where,
                                 const char *host, ab_findings *out)
{
    if (p->cert == NULL)
        return false;
    switch (p->reason) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        explain_name(p, s, where, host, out);
        return true;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        explain_date(p, peer_remedy(s), where, out);
        return true;
    default:
        return false;
    }
}
