/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes on the wire, as the kernel counts them: payload of TCP, which is what TLS, Kafka and all
 * that they say beside the events come to.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/**
 * All that this machine's open connections to a port have sent and received so far. Count before
 * and after; a connection that was closed meanwhile takes its bytes with it.
 *
 * @return false: errno says why
 */
bool ab_bench_wire_bytes(uint16_t port, double *out);
