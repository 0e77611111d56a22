/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/reconcile/effects.h"

void ab_effects_done(void *asker, ab_err code, ab_object *object, const ab_error *err)
{
    ab_asker *a = asker;
    a->done(a, code, object, err);
}

void ab_effects_row_done(void *asker, ab_err code, const ab_received_state *row,
                         const ab_error *err)
{
    ab_asker *a = asker;
    a->row_done(a, code, row, err);
}
