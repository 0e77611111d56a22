/* SPDX-License-Identifier: Apache-2.0
 *
 * What ab_rpc_tls says, as OpenSSL wants it, read again when the files change. Connections keep
 * what they began with. No sessions are resumed: who was revoked must not come back by a ticket.
 */
#pragma once

#include "base/file_stamp.h"
#include "transport/grpc/rpc.h"

#include <openssl/ssl.h>

#define AB_RPC_TLS_FILES 3

typedef struct {
    bool server;
    bool insecure;
    bool websocket;
    ab_rpc_client_cert client_cert;
    char *files[AB_RPC_TLS_FILES]; /* ca, cert, key; NULL: none */
    ab_file_stamps seen;
    char *min_version;
    char *ciphers;
    char *server_name;
    SSL_CTX *ctx; /* NULL: insecure */
} ab_rpc_secure;

/** Copy the settings and load the files. @param host  of the server (client)
 *  @return CONFIG, NOMEM; `s` is to be given to fini in any case */
AB_MUST_USE ab_err ab_rpc_secure_init(ab_rpc_secure *s, const ab_rpc_tls *tls, bool server,
                                      const char *host, ab_error *err);
void ab_rpc_secure_fini(ab_rpc_secure *s);
/** Load the files again. On failure all stays as it was. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_rpc_secure_reload(ab_rpc_secure *s, ab_error *err);
/** One of the files is another one than when this was asked last: to be loaded again. */
bool ab_rpc_secure_is_stale(ab_rpc_secure *s);
/** A connection on `fd`, which stays the caller's. @return NULL when out of memory */
SSL *ab_rpc_secure_open(const ab_rpc_secure *s, int fd);
/** Append what OpenSSL says went wrong, and empty its queue of errors. */
void ab_rpc_secure_explain(const SSL *ssl, ab_error *err, const char *what);
