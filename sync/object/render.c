/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/render.h"

#include "sync/object/copy.h"

void ab_render_metadata(ab_spanw *w, const ab_object *hub)
{
    static const char *const names[] = {"name", "namespace", "uid", "creationTimestamp", "labels"};
    ab_spanw_key(w, AB_STR("metadata"));
    ab_spanw_object(w);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ab_spanw_member(w, ab_object_meta(hub, names[i]));
    ab_copy_desired_annotations(w, ab_object_meta(hub, "annotations"));
    ab_spanw_object_end(w);
}

static bool is_left_out(ab_str name, const char *const *left_out)
{
    for (; *left_out != NULL; left_out++)
        if (ab_str_is(name, *left_out))
            return true;
    return ab_str_is(name, "metadata") || ab_str_is(name, "status");
}

ab_err ab_render(const ab_object *hub, const char *const *left_out, ab_buf *out)
{
    ab_spanw w = ab_spanw_to(out);
    ab_spanw_object(&w);
    for (ab_spanv v = ab_span_first(ab_object_json(hub)); ab_span_present(v); v = ab_span_next(v))
        if (!is_left_out(ab_span_plain_key(v), left_out))
            ab_spanw_member(&w, v);
    ab_render_metadata(&w, hub);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}
