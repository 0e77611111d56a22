/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/principal/deferral.h"

void ab_principal_tell_deferred(const ab_principal *p, const char *agent, ab_str key, bool deferred)
{
    const ab_effects *fx = &p->env.effects;
    if (fx->deferred != NULL)
        fx->deferred(fx->arg, agent, key, deferred);
}

void ab_principal_defer(ab_principal_app *app, enum deferral why, bool deferred)
{
    unsigned before = app->deferred;
    app->deferred = deferred ? before | why : before & ~(unsigned)why;
    if ((before != 0) != (app->deferred != 0))
        ab_principal_tell_deferred(app->principal, app->agent, ab_str_of(app->key), deferred);
}
