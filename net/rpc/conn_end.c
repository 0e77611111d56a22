/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a connection goes: it has failed, has come to its end, or its peer went past a bound.
 */
#include "net/rpc/rpc_priv.h"

#define LINGER_MS 1000 /* for a GOAWAY to go out */

bool ab_rpc_conn_is_open(const ab_rpc_conn *conn)
{
    return conn->state >= AB_RPC_CONN_OPEN && conn->carrier != NULL;
}

void ab_rpc_conn_doom(ab_rpc_conn *conn, const ab_error *err)
{
    if (conn->why.code == AB_ERR_OK)
        conn->why = *err;
    conn->doomed = true;
    ab_rpc_endpoint_wake(conn);
}

void ab_rpc_conn_close(ab_rpc_conn *conn)
{
    conn->closing = true;
    conn->close_ms = ab_rpc_endpoint_now_ms(conn->endpoint) + LINGER_MS;
    ab_rpc_endpoint_wake(conn);
}

void ab_rpc_conn_refuse(ab_rpc_conn *conn, const char *reason, uint32_t code)
{
    ab_error err = {0};
    if (conn->closing || conn->doomed)
        return;
    ab_fail(&err, AB_ERR_DENIED, "connection refused: %s", reason);
    if (conn->why.code == AB_ERR_OK)
        conn->why = err;
    ab_rpc_endpoint_log_refusal(conn->endpoint, conn, reason);
    if (!ab_rpc_conn_is_open(conn)) {
        ab_rpc_conn_doom(conn, &err);
        return;
    }
    conn->carrier->refuse(conn, code);
    ab_rpc_conn_close(conn);
}

bool ab_rpc_conn_allows(ab_rpc_conn *conn, ab_rpc_count *c, const ab_rpc_rate *rate,
                        const char *reason)
{
    if (conn->heard_ms - c->since_ms >= rate->per_ms) {
        c->since_ms = conn->heard_ms;
        c->count = 0;
    }
    if (++c->count <= rate->count)
        return true;
    ab_rpc_conn_refuse(conn, reason, NGHTTP2_ENHANCE_YOUR_CALM);
    return false;
}
