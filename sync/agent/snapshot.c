/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered of an object here so that it can be updated without being read: not its
 * content. Updates name the resourceVersion that they are based on.
 */
#include "sync/agent/agent_priv.h"

#include <stdlib.h>

/* Annotations of a Secret may hold what is secret. */
static bool is_snapshot_kept(const ab_agent_object *o)
{
    return !o->kind->sealed && ab_agent_has_source(o);
}

void ab_agent_take_snapshot(ab_agent_object *o, const ab_object *local)
{
    ab_agent_drop_snapshot(o);
    if (!is_snapshot_kept(o))
        return;
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    if (ab_desired_snapshot(local, &text) == AB_ERR_OK)
        o->snapshot = ab_str_dup(ab_buf_str(&text));
    ab_buf_fini(&text);
}

void ab_agent_drop_snapshot(ab_agent_object *o)
{
    free(o->snapshot);
    o->snapshot = NULL;
}

ab_object *ab_agent_snapshot(const ab_agent_object *o)
{
    ab_object *snapshot = NULL;
    if (o->snapshot == NULL ||
        ab_object_parse(ab_str_of(o->snapshot), &snapshot, NULL) != AB_ERR_OK)
        return NULL;
    return snapshot;
}
