/* SPDX-License-Identifier: Apache-2.0
 *
 * What a server and a client have in common: time, and connections that wait for work.
 */
#pragma once

#include "net/rpc/state.h"

/** One more handle that has to close. */
void ab_rpc_endpoint_ref(ab_rpc_endpoint *endpoint);
void ab_rpc_endpoint_unref(ab_rpc_endpoint *endpoint);
int64_t ab_rpc_endpoint_now_ms(const ab_rpc_endpoint *endpoint);
/** May one more connection be worked on, in this part of the turn of the loop? */
bool ab_rpc_endpoint_has_time(const ab_rpc_endpoint *endpoint);
/** Look at `conn` before the loop sleeps. */
void ab_rpc_endpoint_wake(ab_rpc_conn *conn);
void ab_rpc_endpoint_forget(ab_rpc_conn *conn);
/** Count what is refused, and log it with why the connection ends if it does, though not too often.
 */
void ab_rpc_endpoint_log_refusal(ab_rpc_endpoint *endpoint, const ab_rpc_conn *conn,
                                 const char *reason);
