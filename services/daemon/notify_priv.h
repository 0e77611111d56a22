/* SPDX-License-Identifier: Apache-2.0
 *
 * Telling systemd, by the protocol of sd_notify(3), without its library.
 */
#pragma once

/** Send `state` ("READY=1", lines) to $NOTIFY_SOCKET. Does nothing without one; failures are not
 * reported, because there is nobody to tell. */
void ab_notify(const char *state);
/** RELOADING=1 with the time that systemd wants beside it. */
void ab_notify_reloading(void);
