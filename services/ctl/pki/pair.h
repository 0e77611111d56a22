/* SPDX-License-Identifier: Apache-2.0
 *
 * A certificate and its key in two files. They are never overwritten by accident, and replaced so
 * that a program that reads them again soon has both: both new files are complete on the disk
 * before the first takes its place. Two files cannot change in one step; a program that looks in
 * between finds a key that does not belong to the certificate, keeps the former pair, and looks
 * again when the second file changes (net/tls/tls.h, transport/kafka/credential_reload.h).
 */
#pragma once

#include "base/core/buf.h"

#include <openssl/x509.h>
#include <sys/types.h>

#define AB_PKI_PATH_MAX 4096
#define AB_PKI_TEXT_MAX ((size_t)1024 * 1024)

typedef struct {
    char cert[AB_PKI_PATH_MAX];
    char key[AB_PKI_PATH_MAX];
} ab_pki_paths;

/** DIR/NAME.crt and DIR/NAME.key. @return INVALID: too long */
AB_MUST_USE ab_err ab_pki_paths_in(const char *folder, const char *name, ab_pki_paths *out,
                                   ab_error *err);
/** A certificate's path, and that of the key beside it: its name with .key instead of .crt.
 *  @return INVALID: its name does not end with .crt, or is too long */
AB_MUST_USE ab_err ab_pki_paths_of(const char *cert, ab_pki_paths *out, ab_error *err);

/** Make a file that was not there. @return EXISTS; as ab_file_replace */
AB_MUST_USE ab_err ab_pki_file_create(const char *path, ab_str text, mode_t mode, ab_error *err);
/** Replace a file that is there; owner, group and mode stay. @return as ab_file_replace */
AB_MUST_USE ab_err ab_pki_file_replace(const char *path, ab_str text, ab_error *err);
/** Make both files, the key for its owner only; after a failure none of them.
 *  @param key  absent: only the certificate
 *  @return EXISTS: the certificate is there; CONFLICT: the key is, without it; as
 * ab_pki_file_create */
AB_MUST_USE ab_err ab_pki_pair_create(const ab_pki_paths *paths, ab_str cert, ab_str key,
                                      ab_error *err);
/** Replace both files; owner, group and mode stay. After a failure both are the former ones.
 *  @return as ab_file_replace */
AB_MUST_USE ab_err ab_pki_pair_replace(const ab_pki_paths *paths, ab_str cert, ab_str key,
                                       ab_error *err);

/** The certificates of a file. @param out  owned by the caller: sk_X509_pop_free(out, X509_free)
 *  @return as ab_file_read and ab_pem_certs */
AB_MUST_USE ab_err ab_pki_read_certs(const char *path, STACK_OF(X509) * *out, ab_error *err);
/** The private key of a file. @param out  owned by the caller: EVP_PKEY_free
 *  @return as ab_file_read and ab_pem_key */
AB_MUST_USE ab_err ab_pki_read_key(const char *path, EVP_PKEY **out, ab_error *err);
