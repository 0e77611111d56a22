/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of TLS, and the OpenSSL context made of them, which is made again when the files change.
 * Connections keep what they began with; their owner asks whether their peers are still trusted. No
 * sessions are resumed: who was revoked must not come back by a ticket. Loop thread.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/file_stamp.h"

#include <openssl/ssl.h>

typedef enum {
    AB_TLS_CLIENT_CERT_NONE,    /* not asked for */
    AB_TLS_CLIENT_CERT_REQUEST, /* may be left out; one that is sent must be good */
    AB_TLS_CLIENT_CERT_REQUIRE
} ab_tls_client_cert;

/* Paths of PEM files. They are looked at every few seconds, and read again when they changed;
 * connections that are open go on with those before. Texts are NUL-terminated and copied. */
typedef struct {
    bool insecure;    /* no TLS at all; the files are then not looked at */
    bool websocket;   /* server: WebSockets beside HTTP/2; client: nothing else */
    bool http1;       /* server: HTTP/1.1 and nothing else */
    bool unnamed;     /* client: the protocol has no name in ALPN */
    const char *ca;   /* whom to trust; NULL: client, what the system trusts; server, nobody */
    const char *cert; /* own certificate and its intermediates; NULL: none (clients only) */
    const char *key;
    const char *min_version; /* "1.2" or "1.3"; NULL = "1.3" */
    const char *ciphers;     /* as OpenSSL names them, with colons between; NULL = its defaults */
    const char *server_name; /* client: to ask for and to check; NULL = the host */
    ab_tls_client_cert client_cert; /* server */
} ab_tls;

/** Whether a server or a client could be made with these files.
 *  @return CONFIG: says which file and why; NOMEM */
AB_MUST_USE ab_err ab_tls_check(const ab_tls *tls, bool server, ab_error *err);

#define AB_TLS_FILES 3

typedef struct {
    bool server;
    bool insecure;
    bool websocket;
    bool http1;
    bool unnamed;
    ab_tls_client_cert client_cert;
    char *files[AB_TLS_FILES]; /* ca, cert, key; NULL: none */
    ab_file_stamps seen;
    char *min_version;
    char *ciphers;
    char *server_name;
    SSL_CTX *ctx;     /* NULL: insecure */
    unsigned reloads; /* how often the files were loaded again */
} ab_tls_context;

/** Copy the settings and load the files. @param host  of the server (client)
 *  @return CONFIG, NOMEM; `s` is to be given to fini in any case */
AB_MUST_USE ab_err ab_tls_context_init(ab_tls_context *s, const ab_tls *tls, bool server,
                                       const char *host, ab_error *err);
void ab_tls_context_fini(ab_tls_context *s);

/* Settings of a client of HTTP/1.1 in texts, PEM ones where not said otherwise; absent: none. */
typedef struct {
    ab_str ca; /* absent: what the system trusts */
    ab_str cert;
    ab_str key;
    const char *server_name; /* to ask for and to check */
} ab_tls_texts;

/** A client's context of them, for TLS 1.2 and later; it is not reloaded.
 *  @return CONFIG, NOMEM; `s` is to be given to fini in any case */
AB_MUST_USE ab_err ab_tls_context_init_texts(ab_tls_context *s, const ab_tls_texts *texts,
                                             ab_error *err);
/** Load the files again. On failure all stays as it was. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_tls_context_reload(ab_tls_context *s, ab_error *err);
/** One of the files is another one than when this was asked last: to be loaded again. */
bool ab_tls_context_is_stale(ab_tls_context *s);
/** Whether the peer's certificate is trusted by the files as they were loaded last. True before the
 * handshake, and where the peer has shown none. Takes as long as a signature for each certificate
 * of its chain. */
bool ab_tls_context_trusts(const ab_tls_context *s, SSL *ssl);
/** A connection on `fd`, which stays the caller's. @return NULL when out of memory */
SSL *ab_tls_context_open(const ab_tls_context *s, int fd);
/** Write what OpenSSL says went wrong, and whose certificate was refused, and empty its queue of
 *  errors. */
void ab_tls_context_explain(const SSL *ssl, ab_error *err, const char *what);
