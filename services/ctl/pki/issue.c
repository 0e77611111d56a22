/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/file.h"
#include "services/ctl/pki/authority.h"
#include "services/ctl/pki/key.h"
#include "services/ctl/pki/options.h"
#include "services/ctl/pki/pair.h"
#include "services/ctl/pki/pki.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>

#define DAYS 365

static const ab_ctl_flag flags[] = {
    AB_PKI_FLAG_CA_DIR,
    {"dns", "NAMES", "DNS names of the principal, separated by commas"},
    {"ip", "ADDRESSES", "IP addresses of the principal, separated by commas"},
    {"csr", "FILE", "sign this request's key instead of making one"},
    {"out", "DIR", "folder for NAME.crt and NAME.key (default: .)"},
    AB_PKI_FLAG_SECRET,
    AB_PKI_FLAG_NAMESPACE,
    AB_PKI_FLAG_KEY_TYPE,
    {"days", "N", "how long it is valid (default: 365)"},
};

/* What is asked for, and what it becomes. */
typedef struct {
    const ab_ctl *ctl;
    const char *name;
    ab_pki_request request;
    X509_NAME *subject;
    GENERAL_NAMES *names;
    EVP_PKEY *key;
    ab_pki_authority ca;
    ab_buf cert_pem;
    ab_buf key_pem;
    ab_buf ca_pem;
    ab_error *err;
} issue;

/* ----- who it is for ----- */

static ab_err check_agent(issue *s)
{
    if (s->name == NULL)
        return ab_fail(s->err, AB_ERR_INVALID, "pki issue agent: give the agent's name");
    if (!ab_str_is_dns_label(ab_str_of(s->name)))
        return ab_fail(s->err, AB_ERR_INVALID,
                       "\"%s\" is not a name for an agent: use at most 63 of a-z, 0-9 and -, "
                       "beginning and ending with a letter or digit",
                       s->name);
    if (ab_ctl_value(s->ctl, "dns") != NULL || ab_ctl_value(s->ctl, "ip") != NULL)
        return ab_fail(s->err, AB_ERR_INVALID,
                       "nothing connects to an agent: --dns and --ip are for the principal");
    return AB_ERR_OK;
}

/* Its name is that of its files. */
static ab_err check_principal(issue *s)
{
    if (s->name == NULL)
        s->name = "principal";
    if (!ab_str_is_dns_subdomain(ab_str_of(s->name)))
        return ab_fail(s->err, AB_ERR_INVALID,
                       "\"%s\" is not a name for a principal: use a-z, 0-9, - and .", s->name);
    if (ab_ctl_value(s->ctl, "dns") == NULL && ab_ctl_value(s->ctl, "ip") == NULL)
        return ab_fail(s->err, AB_ERR_INVALID,
                       "give the names by which agents reach the principal: --dns, --ip");
    return AB_ERR_OK;
}

static ab_err read_kind(issue *s)
{
    const char *kind = s->ctl->operands[0];
    s->name = s->ctl->operand_count > 1 ? s->ctl->operands[1] : NULL;
    if (strcmp(kind, "agent") == 0) {
        s->request.usage = AB_PKI_CLIENT;
        return check_agent(s);
    }
    /* With Kafka it is a client of the brokers; over gRPC it is a server. */
    s->request.usage = AB_PKI_CLIENT | AB_PKI_SERVER;
    if (strcmp(kind, "principal") == 0)
        return check_principal(s);
    return ab_fail(s->err, AB_ERR_INVALID, "pki issue: \"%s\" is not agent or principal", kind);
}

static ab_err read_names(issue *s)
{
    s->names = sk_GENERAL_NAME_new_null();
    if (s->names == NULL)
        return AB_ERR_NOMEM;
    ab_err e = ab_pki_names_add(s->names, GEN_DNS, ab_ctl_value(s->ctl, "dns"), s->err);
    if (e == AB_ERR_OK)
        e = ab_pki_names_add(s->names, GEN_IPADD, ab_ctl_value(s->ctl, "ip"), s->err);
    if (e == AB_ERR_OK)
        e = ab_pki_subject_new(s->name, &s->subject, s->err);
    s->request.subject = s->subject;
    s->request.names = s->names;
    return e;
}

/* ----- its key ----- */

/* The names in it are not looked at: they are what whoever made it would like to be. */
static ab_err parse_csr(ab_str text, const char *path, EVP_PKEY **out, ab_error *err)
{
    BIO *bio = BIO_new_mem_buf(text.ptr, (int)text.len);
    X509_REQ *csr = bio == NULL ? NULL : PEM_read_bio_X509_REQ(bio, NULL, NULL, NULL);
    EVP_PKEY *key = csr == NULL ? NULL : X509_REQ_get_pubkey(csr);
    bool is_signed = key != NULL && X509_REQ_verify(csr, key) == 1;
    X509_REQ_free(csr);
    BIO_free(bio);
    ERR_clear_error();
    if (is_signed) {
        *out = key;
        return AB_ERR_OK;
    }
    EVP_PKEY_free(key);
    return ab_fail(err, AB_ERR_INVALID, "%s: not a certificate signing request (PEM)%s", path,
                   key == NULL ? "" : " that its own key has signed");
}

static ab_err read_csr(const char *path, EVP_PKEY **out, ab_error *err)
{
    ab_buf text = ab_buf_up_to(AB_PKI_TEXT_MAX);
    ab_err e = ab_file_read(path, &text, NULL, err);
    if (e == AB_ERR_OK)
        e = parse_csr(ab_buf_str(&text), path, out, err);
    ab_buf_fini(&text);
    return e;
}

static ab_err take_key(issue *s)
{
    const char *csr = ab_ctl_value(s->ctl, "csr");
    if (csr == NULL) {
        ab_err e = ab_pki_key_new(ab_ctl_value(s->ctl, "key-type"), &s->key, s->err);
        return e == AB_ERR_OK ? ab_pki_key_pem(s->key, &s->key_pem) : e;
    }
    if (ab_ctl_value(s->ctl, "kubernetes-secret") != NULL)
        return ab_fail(
            s->err, AB_ERR_INVALID,
            "--csr: whoever made the request has the key, so there is no Secret to print");
    ab_err e = read_csr(csr, &s->key, s->err);
    return e == AB_ERR_OK ? ab_pki_key_check(s->key, s->err) : e;
}

/* ----- the certificate ----- */

static ab_err read_request(issue *s)
{
    ab_err e = read_kind(s);
    if (e == AB_ERR_OK)
        e = ab_pki_days(s->ctl, DAYS, &s->request.days, s->err);
    if (e == AB_ERR_OK)
        e = read_names(s);
    return e;
}

static ab_err make(issue *s)
{
    X509 *cert = NULL;
    ab_err e = ab_pki_authority_read(ab_pki_value(s->ctl, "ca-dir", "ca"), true, &s->ca, s->err);
    if (e == AB_ERR_OK)
        e = take_key(s);
    if (e == AB_ERR_OK)
        e = ab_pki_sign(&s->request, s->key, &s->ca.signer, &cert, s->err);
    if (e == AB_ERR_OK)
        e = ab_pki_chain_pem(&s->ca, cert, &s->cert_pem);
    if (e == AB_ERR_OK)
        e = ab_pki_authority_pem(&s->ca, &s->ca_pem);
    X509_free(cert);
    return e;
}

static ab_err write_files(issue *s)
{
    ab_pki_paths paths;
    bool has_key = s->key_pem.len > 0;
    ab_err e = ab_pki_paths_in(ab_pki_value(s->ctl, "out", "."), s->name, &paths, s->err);
    if (e == AB_ERR_OK)
        e = ab_pki_pair_create(&paths, ab_buf_str(&s->cert_pem),
                               has_key ? ab_buf_str(&s->key_pem) : AB_STR_NONE, s->err);
    if (e == AB_ERR_EXISTS)
        return ab_fail(s->err, e,
                       "%s or its key exists already: renew it (pki renew %s), or remove both",
                       paths.cert, paths.cert);
    if (e == AB_ERR_OK)
        printf("wrote %s%s%s\n", paths.cert, has_key ? " and " : "", has_key ? paths.key : "");
    return e;
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    issue s = {.ctl = ctl, .err = &err};
    ab_buf_init(&s.cert_pem, AB_PKI_TEXT_MAX);
    ab_buf_init_secret(&s.key_pem, AB_PKI_TEXT_MAX);
    ab_buf_init(&s.ca_pem, AB_PKI_TEXT_MAX);
    ab_err e = read_request(&s);
    if (e == AB_ERR_OK)
        e = make(&s);
    if (e == AB_ERR_OK)
        e = ab_ctl_value(ctl, "kubernetes-secret") == NULL
                ? write_files(&s)
                : ab_pki_print_secret(ctl, ab_buf_str(&s.cert_pem), ab_buf_str(&s.key_pem),
                                      ab_buf_str(&s.ca_pem), &err);
    ab_buf_fini(&s.cert_pem);
    ab_buf_wipe(&s.key_pem);
    ab_buf_fini(&s.ca_pem);
    ab_pki_authority_fini(&s.ca);
    EVP_PKEY_free(s.key);
    X509_NAME_free(s.subject);
    GENERAL_NAMES_free(s.names);
    return ab_pki_end(e, &err);
}

const ab_ctl_command ab_ctl_pki_issue = {
    .name = "pki issue",
    .operands = "agent NAME | principal [NAME]",
    .operands_min = 1,
    .operands_max = 2,
    .summary = "Make a key, and a certificate that the CA signs",
    .examples = "  argobusctl pki issue principal --dns principal.example.com --ip 10.0.0.7\n"
                "  argobusctl pki issue agent w1\n"
                "  argobusctl pki issue agent w1 --csr w1.csr\n"
                "  argobusctl pki issue agent w1 --kubernetes-secret argocd-agent-client-tls |\n"
                "      kubectl --context w1 apply -f -\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .run = run,
};
