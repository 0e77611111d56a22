/* SPDX-License-Identifier: Apache-2.0
 *
 * Telling systemd, by the protocol of sd_notify(3), without its library.
 */
#pragma once

#include "base/core/buf.h"

/** Send `state` ("READY=1", lines) to $NOTIFY_SOCKET. Does nothing without one; failures are not
 * reported, because there is nobody to tell. */
void ab_notify(const char *state);
/** RELOADING=1 with the time that systemd wants beside it. */
void ab_notify_reloading(void);
/* What was told last. */
typedef char ab_notified[256];
/**
 * STATUS, which `systemctl status` shows while the program is not ready yet: the first line of
 * `why`, or as much as fits. Nothing is sent if `told` (at first "") has the same; afterwards it
 * does.
 */
void ab_notify_waiting(ab_str why, ab_notified told);
