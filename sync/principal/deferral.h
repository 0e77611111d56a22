/* SPDX-License-Identifier: Apache-2.0
 *
 * What keeps an object from being in effect at its agent, although nothing of it is on its way.
 */
#pragma once

#include "sync/principal/state.h"

enum deferral {
    DEFERRED_BY_AGENT = 1, /* it reports an error */
    DEFERRED_UNSENDABLE = 2,
};

/** Whether this keeps the Application from being in effect at its agent. */
void ab_principal_defer(ab_principal_app *app, enum deferral why, bool deferred);
/** Tell that something keeps the object of this key from being in effect at the agent, or no longer
 * does. */
void ab_principal_tell_deferred(const ab_principal *p, const char *agent, ab_str key,
                                bool deferred);
