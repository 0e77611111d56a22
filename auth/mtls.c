/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent is whom its certificate names: by the subject, or by a URI among the alternative names
 * (a SPIFFE ID). TLS has verified the certificate; revocation is looked at for all methods alike.
 */
#include "auth/method.h"
#include "base/crypto/certificate.h"

/* As long as an expression may look at. */
#define NAME_MAX_BYTES 4096

typedef struct {
    ab_auth_method base;
    ab_identity_rule *identity;
} mtls;

static ab_err init(ab_auth_method *self, ab_error *err)
{
    mtls *m = (mtls *)self;
    ab_str text = ab_str_of(ab_config_str(self->env->config, "grpc.auth.mtls.identity"));
    ab_err e = ab_identity_rule_new(text, &m->identity, err);
    if (e != AB_ERR_OK)
        ab_error_prefix(err, "grpc.auth.mtls.identity");
    return e == AB_ERR_INVALID ? AB_ERR_CONFIG : e;
}

static void begin(ab_auth_method *self, const ab_auth_peer *peer, const ab_auth_request *request,
                  ab_auth_check *check)
{
    const mtls *m = (const mtls *)self;
    const X509 *cert = peer->certificate;
    (void)request;
    check->reason = cert == NULL ? AB_AUTH_NO_CERTIFICATE : AB_AUTH_CERTIFICATE;
    if (cert == NULL)
        return;
    ab_buf name = ab_buf_up_to(NAME_MAX_BYTES);
    ab_err e = ab_identity_rule_name(m->identity, cert, &name);
    if (e == AB_ERR_OK)
        ab_auth_check_captured(check, ab_buf_str(&name), AB_AUTH_CERTIFICATE);
    else if (e == AB_ERR_NOMEM)
        check->reason = AB_AUTH_INTERNAL;
    ab_buf_fini(&name);
}

static void fini(ab_auth_method *self)
{
    ab_identity_rule_free(((mtls *)self)->identity);
}

const ab_auth_method_ops ab_auth_mtls = {
    .name = "mtls",
    .size = sizeof(mtls),
    .init = init,
    .begin = begin,
    .fini = fini,
};
