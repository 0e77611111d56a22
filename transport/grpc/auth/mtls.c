/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent is whom its certificate names: by the subject, or by a URI among the alternative names
 * (a SPIFFE ID). TLS has verified the certificate; revocation is looked at for all methods alike.
 */
#include "base/pattern.h"
#include "transport/grpc/auth/certificate_priv.h"
#include "transport/grpc/auth/method_priv.h"

/* What an expression looks at. */
#define SUBJECT_MAX 4096

typedef struct {
    ab_auth_method base;
    bool by_uri;
    ab_expression *identity;
} mtls;

static ab_err init(ab_auth_method *self, ab_error *err)
{
    mtls *m = (mtls *)self;
    ab_str text = ab_str_of(ab_config_str(self->env->config, "grpc.auth.mtls.identity"));
    const char *colon = memchr(text.ptr, ':', text.len);
    ab_str kind = {text.ptr, colon == NULL ? 0 : (size_t)(colon - text.ptr)};
    m->by_uri = ab_str_is(kind, "uri");
    if (!m->by_uri && !ab_str_is(kind, "subject"))
        return ab_fail(err, AB_ERR_CONFIG,
                       "grpc.auth.mtls.identity: wants subject:EXPRESSION or uri:EXPRESSION");
    ab_err e = ab_expression_new((ab_str){colon + 1, text.len - kind.len - 1}, &m->identity, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "grpc.auth.mtls.identity");
    return e == AB_ERR_INVALID ? AB_ERR_CONFIG : e;
}

/* A certificate is counted by itself, whatever the method. */
static bool claim(ab_auth_method *self, const ab_auth_peer *peer, const ab_auth_request *request,
                  ab_buf *out)
{
    (void)self;
    (void)peer;
    (void)request;
    (void)out;
    return false;
}

typedef struct {
    const mtls *method;
    ab_auth_check *check;
} search;

static bool take_uri(void *arg, ab_str uri)
{
    const search *s = arg;
    ab_str name = ab_expression_first_group(s->method->identity, uri);
    if (name.ptr == NULL)
        return false;
    ab_auth_check_captured(s->check, name, AB_AUTH_CERTIFICATE);
    return true;
}

static void take_subject(const mtls *m, const X509 *cert, ab_auth_check *check)
{
    ab_buf subject;
    ab_buf_init(&subject, SUBJECT_MAX);
    ab_err e = ab_certificate_subject(cert, &subject);
    if (e == AB_ERR_NOMEM)
        check->reason = AB_AUTH_INTERNAL;
    else if (e == AB_ERR_OK)
        ab_auth_check_captured(check, ab_expression_first_group(m->identity, ab_buf_str(&subject)),
                               AB_AUTH_CERTIFICATE);
    ab_buf_fini(&subject);
}

static void identify(const mtls *m, const X509 *cert, ab_auth_check *check)
{
    search s = {m, check};
    check->reason = cert == NULL ? AB_AUTH_NO_CERTIFICATE : AB_AUTH_CERTIFICATE;
    if (cert == NULL)
        return;
    if (m->by_uri)
        (void)ab_certificate_each_uri(cert, take_uri, &s);
    else
        take_subject(m, cert, check);
}

static void begin(ab_auth_method *self, const ab_auth_peer *peer, const ab_auth_request *request,
                  ab_auth_check *check)
{
    (void)request;
    identify((const mtls *)self, peer->certificate, check);
}

/* The expression may have been changed over a restart that the key of the tokens has survived. */
static ab_auth_reason holds(ab_auth_method *self, const ab_auth_peer *peer,
                            const ab_auth_identity *identity)
{
    ab_auth_check check = {0};
    identify((const mtls *)self, peer->certificate, &check);
    if (check.reason != AB_AUTH_NONE)
        return check.reason;
    return strcmp(check.agent, identity->agent) == 0 ? AB_AUTH_NONE : AB_AUTH_OTHER_AGENT;
}

static void fini(ab_auth_method *self)
{
    ab_expression_free(((mtls *)self)->identity);
}

const ab_auth_method_ops ab_auth_mtls = {
    .name = "mtls",
    .size = sizeof(mtls),
    .init = init,
    .claim = claim,
    .begin = begin,
    .holds = holds,
    .fini = fini,
};
