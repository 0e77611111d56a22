/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes that a connection has, and the end of its request: what all the other parts need.
 */
#include "net/http/https_priv.h"

#include <stdlib.h>

ab_str ab_https_conn_rest(const ab_https_conn *c)
{
    if (c->in.ptr == NULL)
        return AB_STR("");
    return (ab_str){c->in.ptr + c->read, c->in.len - c->read};
}

void ab_https_conn_consume(ab_https_conn *c, size_t len)
{
    c->read += len;
    c->seen = 0;
}

void ab_https_conn_over(ab_https_conn *c, ab_err why, unsigned close_code)
{
    ab_https_request *r = c->request;
    c->request = NULL;
    r->handler->on_over(r->arg, why, close_code);
    ab_websocket_frames_fini(&r->frames);
    free(r);
}

void ab_https_conn_linger(ab_https_conn *c)
{
    c->state = AB_HTTPS_LINGER;
    c->since = uv_now(c->server->loop);
    ab_tls_socket_shut(c->socket);
}
