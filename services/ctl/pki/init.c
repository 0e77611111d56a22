/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/authority.h"
#include "services/ctl/pki/key.h"
#include "services/ctl/pki/options.h"
#include "services/ctl/pki/pair.h"
#include "services/ctl/pki/pki.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAYS 3650

static const ab_ctl_flag flags[] = {
    {"ca-dir", "DIR", "folder for ca.crt and ca.key (default: ca)"},
    AB_PKI_FLAG_SECRET,
    AB_PKI_FLAG_NAMESPACE,
    AB_PKI_FLAG_KEY_TYPE,
    {"days", "N", "how long it is valid (default: 3650)"},
    {"name", "CN", "common name of the CA (default: argobus)"},
};

typedef struct {
    ab_buf cert;
    ab_buf key;
} texts;

static ab_err make(const ab_ctl *ctl, texts *out, ab_error *err)
{
    X509_NAME *subject = NULL;
    EVP_PKEY *key = NULL;
    X509 *cert = NULL;
    ab_pki_request request = {0};
    ab_err e = ab_pki_days(ctl, DAYS, &request.days, err);
    if (e == AB_ERR_OK)
        e = ab_pki_subject_new(ab_pki_value(ctl, "name", "argobus"), &subject, err);
    if (e == AB_ERR_OK)
        e = ab_pki_key_new(ab_ctl_value(ctl, "key-type"), &key, err);
    request.subject = subject;
    if (e == AB_ERR_OK)
        e = ab_pki_sign_itself(&request, key, &cert, err);
    if (e == AB_ERR_OK)
        e = ab_pki_cert_pem(cert, &out->cert);
    if (e == AB_ERR_OK)
        e = ab_pki_key_pem(key, &out->key);
    X509_free(cert);
    EVP_PKEY_free(key);
    X509_NAME_free(subject);
    return e;
}

static ab_err write_files(const char *folder, const texts *made, ab_error *err)
{
    ab_pki_paths paths;
    ab_err e = ab_pki_paths_in(folder, "ca", &paths, err);
    if (e == AB_ERR_OK)
        e = ab_pki_pair_create(&paths, ab_buf_str(&made->cert), ab_buf_str(&made->key), err);
    if (e == AB_ERR_EXISTS)
        return ab_fail(err, e,
                       "there is a CA in %s already, and its certificates depend on it: use it "
                       "(pki issue), or make another one elsewhere (--ca-dir)",
                       folder);
    if (e == AB_ERR_OK)
        printf("wrote %s and %s: keep the key secret, and keep a copy\n", paths.cert, paths.key);
    return e;
}

static ab_err write_made(const ab_ctl *ctl, const texts *made, ab_error *err)
{
    const char *folder = ab_pki_value(ctl, "ca-dir", "ca");
    if (ab_ctl_value(ctl, "kubernetes-secret") != NULL)
        return ab_pki_print_secret(ctl, ab_buf_str(&made->cert), ab_buf_str(&made->key),
                                   ab_buf_str(&made->cert), err);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return ab_fail_errno(err, ab_err_from_errno(errno), errno, "cannot create %s", folder);
    return write_files(folder, made, err);
}

static int run(const ab_ctl *ctl)
{
    ab_error err = {0};
    texts made;
    ab_buf_init(&made.cert, AB_PKI_TEXT_MAX);
    ab_buf_init_secret(&made.key, AB_PKI_TEXT_MAX);
    ab_err e = make(ctl, &made, &err);
    if (e == AB_ERR_OK)
        e = write_made(ctl, &made, &err);
    ab_buf_fini(&made.cert);
    ab_buf_wipe(&made.key);
    return ab_pki_end(e, &err);
}

const ab_ctl_command ab_ctl_pki_init = {
    .name = "pki init",
    .operands = "",
    .summary = "Create a certificate authority for the principal and its agents",
    .examples = "  argobusctl pki init --ca-dir ca\n"
                "  argobusctl pki init --kubernetes-secret argocd-agent-ca | kubectl create -f -\n",
    .flags = flags,
    .flag_count = sizeof(flags) / sizeof(*flags),
    .run = run,
};
