/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates and keys made while a test runs. What fails here aborts the test.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* PEM texts. */
typedef struct {
    char *cert;
    char *key;
} made_cert;

typedef struct {
    const char *type;           /* "RSA-2048", "EC-P-256", "ED25519" */
    const char *name;           /* common name; NULL: none */
    const char *san;            /* "DNS:west", "URI:spiffe://..."; NULL: none */
    const char *usage;          /* keyUsage, "keyAgreement"; NULL: any */
    const char *extended_usage; /* extendedKeyUsage, "clientAuth"; NULL: any */
    bool ca;
    const made_cert *issuer; /* NULL: itself */
    int64_t from_s, until_s; /* from now; both 0: an hour ago and in an hour */
} made_cert_spec;

made_cert make_cert(const made_cert_spec *spec);
/** Another certificate for the key of `of`. */
made_cert renew_cert(const made_cert *of, const made_cert_spec *spec);
/** Make it all that the file of this name in the folder holds. */
void write_pem(const char *folder, const char *name, const char *text);
void made_cert_free(made_cert *m);
