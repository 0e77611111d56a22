/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/certs.h"

#include "tests/bench/base/process.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_S 3600
#define DAY_S  (24L * HOUR_S)

/* Who signs, with what. */
typedef struct {
    X509 *cert;
    EVP_PKEY *key;
} authority;

static FILE *open_file(const ab_bench_certs *c, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", c->folder, name);
    return n > 0 && n < PATH_MAX ? fopen(path, "we") : NULL;
}

static bool write_cert(const ab_bench_certs *c, const char *name, X509 *cert)
{
    FILE *f = open_file(c, name);
    bool ok = f != NULL && PEM_write_X509(f, cert) == 1;
    return f != NULL && fclose(f) == 0 && ok;
}

static bool write_key(const ab_bench_certs *c, const char *name, const EVP_PKEY *key)
{
    FILE *f = open_file(c, name);
    bool ok = f != NULL && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1;
    return f != NULL && fclose(f) == 0 && ok;
}

static bool add_extension(X509 *cert, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    bool ok = e != NULL && X509_add_ext(cert, e, -1) == 1;
    X509_EXTENSION_free(e);
    return ok;
}

static bool name_it(X509 *cert, const char *cn)
{
    return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                                      (const unsigned char *)cn, -1, -1, 0) == 1;
}

/* @param ca  NULL: it signs itself. @return NULL when OpenSSL failed */
static X509 *make_cert(const authority *ca, EVP_PKEY *key, const char *cn, int nid,
                       const char *value)
{
    static long serial;
    X509 *cert = X509_new();
    bool ok = cert != NULL && X509_set_version(cert, 2) == 1 &&
              ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(cert), -HOUR_S) != NULL &&
              X509_gmtime_adj(X509_getm_notAfter(cert), DAY_S) != NULL &&
              X509_set_pubkey(cert, key) == 1 && name_it(cert, cn);
    ok = ok && X509_set_issuer_name(cert, X509_get_subject_name(ca == NULL ? cert : ca->cert)) == 1;
    ok = ok && add_extension(cert, nid, value) &&
         X509_sign(cert, ca == NULL ? key : ca->key, EVP_sha256()) > 0;
    if (ok)
        return cert;
    X509_free(cert);
    return NULL;
}

static bool make_one(const ab_bench_certs *c, const authority *ca, EVP_PKEY *key, const char *cn,
                     const char *alternative, const char *file)
{
    X509 *cert = make_cert(ca, key, cn, NID_subject_alt_name, alternative);
    bool ok = cert != NULL && write_cert(c, file, cert);
    X509_free(cert);
    return ok;
}

static bool make_agents(const ab_bench_certs *c, const authority *ca)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    bool ok = key != NULL && write_key(c, "agent.key", key);
    for (unsigned i = 0; i < c->agents && ok; i++) {
        char name[16], alternative[32], file[32];
        (void)snprintf(name, sizeof(name), "w%u", i);
        (void)snprintf(alternative, sizeof(alternative), "DNS:%s", name);
        (void)snprintf(file, sizeof(file), "%s.crt", name);
        ok = make_one(c, ca, key, name, alternative, file);
    }
    EVP_PKEY_free(key);
    return ok;
}

static bool make_server(const ab_bench_certs *c, const authority *ca)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    bool ok = key != NULL && write_key(c, "server.key", key) &&
              make_one(c, ca, key, "localhost", "DNS:localhost", "server.crt");
    EVP_PKEY_free(key);
    return ok;
}

bool ab_bench_certs_open(ab_bench_certs *c, unsigned agents)
{
    c->agents = agents;
    bool ok = ab_bench_temporary(c->folder) && mkdtemp(c->folder) != NULL;
    authority ca = {.key = EVP_EC_gen("P-256")};
    if (ca.key != NULL)
        ca.cert = make_cert(NULL, ca.key, "bench CA", NID_basic_constraints, "critical,CA:TRUE");
    ok = ok && ca.cert != NULL && write_cert(c, "ca.crt", ca.cert) && make_server(c, &ca) &&
         make_agents(c, &ca);
    X509_free(ca.cert);
    EVP_PKEY_free(ca.key);
    if (!ok)
        fprintf(stderr, "argobus-bench: cannot make certificates in %s\n", c->folder);
    return ok;
}

static void remove_file(const ab_bench_certs *c, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", c->folder, name);
    if (n > 0 && n < PATH_MAX)
        (void)unlink(path); /* it may not have come to be */
}

void ab_bench_certs_close(const ab_bench_certs *c)
{
    static const char *const names[] = {"ca.crt", "server.crt", "server.key", "agent.key"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        remove_file(c, names[i]);
    for (unsigned i = 0; i < c->agents; i++) {
        char file[32];
        (void)snprintf(file, sizeof(file), "w%u.crt", i);
        remove_file(c, file);
    }
    (void)rmdir(c->folder);
}
