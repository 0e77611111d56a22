/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/authority.h"

#include "services/ctl/pki/pair.h"

#include <openssl/err.h>
#include <unistd.h>

static ab_err find_files(const char *folder, ab_pki_paths *out, ab_error *err)
{
    static const char *const names[] = {"ca", "tls"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        ab_err e = ab_pki_paths_in(folder, names[i], out, err);
        if (e != AB_ERR_OK || access(out->cert, F_OK) == 0)
            return e;
    }
    return ab_fail(err, AB_ERR_NOTFOUND,
                   "there is no CA in %s: make one (pki init --ca-dir %s), or copy yours there as "
                   "ca.crt and ca.key",
                   folder, folder);
}

static ab_err find_signer(ab_pki_authority *a, const ab_pki_paths *paths, ab_error *err)
{
    ab_err e = ab_pki_read_key(paths->key, &a->signer.key, err);
    if (e != AB_ERR_OK)
        return e;
    for (int i = 0; i < sk_X509_num(a->certs) && a->signer.cert == NULL; i++)
        if (X509_check_private_key(sk_X509_value(a->certs, i), a->signer.key) == 1)
            a->signer.cert = sk_X509_value(a->certs, i);
    ERR_clear_error();
    if (a->signer.cert == NULL)
        return ab_fail(err, AB_ERR_INVALID, "%s does not belong to a certificate in %s", paths->key,
                       paths->cert);
    if (X509_check_ca(a->signer.cert) == 0)
        return ab_fail(err, AB_ERR_INVALID, "%s is not the certificate of a CA", paths->cert);
    return AB_ERR_OK;
}

ab_err ab_pki_authority_read(const char *folder, bool with_key, ab_pki_authority *out,
                             ab_error *err)
{
    ab_pki_paths paths;
    ab_pki_authority a = {0};
    ab_err e = find_files(folder, &paths, err);
    if (e == AB_ERR_OK)
        e = ab_pki_read_certs(paths.cert, &a.certs, err);
    if (e == AB_ERR_OK && with_key)
        e = find_signer(&a, &paths, err);
    if (e == AB_ERR_OK)
        *out = a;
    else
        ab_pki_authority_fini(&a);
    return e;
}

void ab_pki_authority_fini(ab_pki_authority *a)
{
    EVP_PKEY_free(a->signer.key);
    sk_X509_pop_free(a->certs, X509_free);
    *a = (ab_pki_authority){0};
}

ab_err ab_pki_authority_pem(const ab_pki_authority *a, ab_buf *out)
{
    ab_err e = AB_ERR_OK;
    for (int i = 0; i < sk_X509_num(a->certs) && e == AB_ERR_OK; i++)
        e = ab_pki_cert_pem(sk_X509_value(a->certs, i), out);
    return e;
}

ab_err ab_pki_chain_pem(const ab_pki_authority *a, X509 *cert, ab_buf *out)
{
    ab_err e = ab_pki_cert_pem(cert, out);
    bool is_root = X509_self_signed(a->signer.cert, 0) == 1;
    ERR_clear_error();
    return e == AB_ERR_OK && !is_root ? ab_pki_cert_pem(a->signer.cert, out) : e;
}
