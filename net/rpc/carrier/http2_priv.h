/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the carrier by HTTP/2: http2.c sends, http2_in.c hears.
 */
#pragma once

#include "net/rpc/call.h"
#include "net/rpc/carrier/carrier.h"
#include "net/rpc/conn_end.h"

/** The callbacks for what comes. */
void ab_rpc_http2_listen(nghttp2_session_callbacks *c);
