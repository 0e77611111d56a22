/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenSSL works on the socket itself, and libuv only says when the socket is ready. With memory
 * BIOs under a uv_tcp_t each byte would be copied twice more, and an idle connection would hold
 * two BIOs and libuv's buffers; this way it holds none.
 */
#include "net/rpc/rpc_priv.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <unistd.h>

static void fail_io(ab_rpc_conn *conn, int reason, const char *what)
{
    ab_error err = {0};
    if (reason == 0)
        ab_fail(&err, AB_ERR_UNAVAILABLE, "%s", what);
    else
        ab_fail_errno(&err, AB_ERR_UNAVAILABLE, reason, "%s", what);
    ab_rpc_conn_doom(conn, &err);
}

/* What OpenSSL's return value means; `what` was tried. */
static ab_rpc_wire after_tls(ab_rpc_conn *conn, int rc, const char *what)
{
    int reason = errno;
    int code = SSL_get_error(conn->ssl, rc);
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
        return AB_RPC_WIRE_AGAIN;
    if (code == SSL_ERROR_ZERO_RETURN || (code == SSL_ERROR_SYSCALL && reason != 0)) {
        fail_io(conn, code == SSL_ERROR_SYSCALL ? reason : 0, "connection closed");
        ERR_clear_error();
        return AB_RPC_WIRE_FAILED;
    }
    ab_error err = {0};
    ab_tls_context_explain(conn->ssl, &err, what);
    ab_rpc_conn_doom(conn, &err);
    return AB_RPC_WIRE_FAILED;
}

static ab_rpc_wire finish_tcp(ab_rpc_conn *conn)
{
    int reason = 0;
    socklen_t len = sizeof(reason);
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &reason, &len) != 0)
        reason = errno;
    if (reason != 0) {
        fail_io(conn, reason, "cannot connect");
        return AB_RPC_WIRE_FAILED;
    }
    conn->state = conn->ssl == NULL ? AB_RPC_CONN_OPEN : AB_RPC_CONN_TLS;
    return AB_RPC_WIRE_DONE;
}

/* Without ALPN the peer may be anything. */
bool ab_rpc_wire_speaks_h2(const ab_rpc_conn *conn)
{
    const unsigned char *name = NULL;
    unsigned len = 0;
    SSL_get0_alpn_selected(conn->ssl, &name, &len);
    return ab_str_eq((ab_str){(const char *)name, len}, AB_STR("h2"));
}

static ab_rpc_wire shake_hands(ab_rpc_conn *conn)
{
    ERR_clear_error();
    errno = 0;
    int rc = SSL_do_handshake(conn->ssl);
    if (rc != 1) {
        ab_rpc_wire w = after_tls(conn, rc, "TLS handshake failed");
        if (w == AB_RPC_WIRE_FAILED)
            ab_rpc_endpoint_log_refusal(conn->endpoint, conn, "tls");
        return w;
    }
    if (!conn->endpoint->secure.websocket && !ab_rpc_wire_speaks_h2(conn)) {
        fail_io(conn, 0, "the peer does not speak HTTP/2 (no h2 by ALPN)");
        ab_rpc_endpoint_log_refusal(conn->endpoint, conn, "alpn");
        return AB_RPC_WIRE_FAILED;
    }
    conn->peer.certificate = SSL_get0_peer_certificate(conn->ssl);
    conn->state = AB_RPC_CONN_OPEN;
    return AB_RPC_WIRE_DONE;
}

ab_rpc_wire ab_rpc_wire_open(ab_rpc_conn *conn)
{
    if (conn->state == AB_RPC_CONN_TCP && finish_tcp(conn) == AB_RPC_WIRE_FAILED)
        return AB_RPC_WIRE_FAILED;
    return conn->state == AB_RPC_CONN_TLS ? shake_hands(conn) : AB_RPC_WIRE_DONE;
}

static ab_rpc_wire read_plain(ab_rpc_conn *conn, uint8_t *into, size_t len, size_t *got)
{
    ssize_t n = recv(conn->fd, into, len, 0);
    if (n > 0) {
        *got = (size_t)n;
        return AB_RPC_WIRE_DONE;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return AB_RPC_WIRE_AGAIN;
    fail_io(conn, n < 0 ? errno : 0, "connection closed");
    return AB_RPC_WIRE_FAILED;
}

ab_rpc_wire ab_rpc_wire_read(ab_rpc_conn *conn, uint8_t *into, size_t len, size_t *got)
{
    if (conn->ssl == NULL)
        return read_plain(conn, into, len, got);
    ERR_clear_error();
    errno = 0;
    int rc = SSL_read_ex(conn->ssl, into, len, got);
    return rc == 1 ? AB_RPC_WIRE_DONE : after_tls(conn, rc, "TLS failed");
}

void ab_rpc_wire_cork(const ab_rpc_conn *conn, bool on)
{
    int value = on;
    (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_CORK, &value, sizeof(value));
}

/* Some of the bytes, as far as they go at once. */
static ab_rpc_wire write_some(ab_rpc_conn *conn, const uint8_t *bytes, size_t len, size_t *put)
{
    if (conn->ssl != NULL) {
        ERR_clear_error();
        errno = 0;
        int rc = SSL_write_ex(conn->ssl, bytes, len, put);
        return rc == 1 ? AB_RPC_WIRE_DONE : after_tls(conn, rc, "TLS failed");
    }
    ssize_t n = send(conn->fd, bytes, len, MSG_NOSIGNAL);
    if (n >= 0) {
        *put = (size_t)n;
        return AB_RPC_WIRE_DONE;
    }
    if (errno == EAGAIN || errno == EINTR)
        return AB_RPC_WIRE_AGAIN;
    fail_io(conn, errno, "connection closed");
    return AB_RPC_WIRE_FAILED;
}

static ab_rpc_wire write_all(ab_rpc_conn *conn, const uint8_t *bytes, size_t len, size_t *sent)
{
    while (*sent < len) {
        size_t n = 0;
        ab_rpc_wire w = write_some(conn, bytes + *sent, len - *sent, &n);
        if (w != AB_RPC_WIRE_DONE)
            return w;
        *sent += n;
        conn->moved_ms = ab_rpc_endpoint_now_ms(conn->endpoint);
    }
    return AB_RPC_WIRE_DONE;
}

ab_rpc_wire ab_rpc_wire_write(ab_rpc_conn *conn, const uint8_t *bytes, size_t len, size_t more)
{
    size_t sent = 0;
    ab_rpc_wire w = write_all(conn, bytes, len, &sent);
    if (w != AB_RPC_WIRE_AGAIN)
        return w;
    size_t left = len - sent + more;
    conn->out = malloc(left);
    if (conn->out == NULL) {
        fail_io(conn, ENOMEM, "out of memory for the send queue");
        return AB_RPC_WIRE_FAILED;
    }
    memcpy(conn->out, bytes + sent, left);
    conn->out_len = left;
    conn->out_sent = 0;
    return AB_RPC_WIRE_AGAIN;
}

ab_rpc_wire ab_rpc_wire_flush(ab_rpc_conn *conn)
{
    if (conn->out == NULL)
        return AB_RPC_WIRE_DONE;
    ab_rpc_wire w = write_all(conn, conn->out, conn->out_len, &conn->out_sent);
    if (w != AB_RPC_WIRE_DONE)
        return w;
    free(conn->out);
    conn->out = NULL;
    return AB_RPC_WIRE_DONE;
}

static void say_goodbye(ab_rpc_conn *conn)
{
    if (conn->ssl == NULL || conn->state < AB_RPC_CONN_OPEN)
        return;
    (void)SSL_shutdown(conn->ssl);
    ERR_clear_error();
}

void ab_rpc_wire_shut(ab_rpc_conn *conn)
{
    say_goodbye(conn);
    (void)shutdown(conn->fd, SHUT_WR);
}

void ab_rpc_wire_close(ab_rpc_conn *conn)
{
    say_goodbye(conn);
    if (conn->ssl != NULL) {
        SSL_free(conn->ssl);
        conn->ssl = NULL;
    }
    free(conn->out);
    conn->out = NULL;
    if (conn->fd >= 0)
        close(conn->fd);
    conn->fd = -1;
}
