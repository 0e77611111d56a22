/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered of an object here so that it can be updated without being read: not its
 * content. Updates name the resourceVersion that they are based on.
 */
#include "sync/agent/agent_priv.h"

#include <stdlib.h>

/* Annotations of a Secret may hold what is secret. */
static bool is_kept(const ab_agent_object *o)
{
    return !o->kind->sealed && ab_agent_has_source(o);
}

void ab_agent_keep_outline(ab_agent_object *o, const ab_object *local)
{
    ab_buf text;
    ab_agent_drop_outline(o);
    if (!is_kept(o))
        return;
    ab_buf_init(&text, AB_JSON_SIZE_MAX);
    if (ab_place_outline(local, &text) == AB_ERR_OK)
        o->outline = ab_str_dup(ab_buf_str(&text));
    ab_buf_fini(&text);
}

void ab_agent_drop_outline(ab_agent_object *o)
{
    free(o->outline);
    o->outline = NULL;
}

ab_object *ab_agent_outline(const ab_agent_object *o)
{
    ab_object *outline = NULL;
    if (o->outline == NULL || ab_object_parse(ab_str_of(o->outline), &outline, NULL) != AB_ERR_OK)
        return NULL;
    return outline;
}
