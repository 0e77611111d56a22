/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/render.h"

#include "sync/object/copy.h"

void ab_render_metadata(ab_spanw *w, const ab_object *hub)
{
    static const char *const names[] = {"name", "namespace", "uid", "creationTimestamp"};
    ab_spanw_key_object(w, "metadata");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ab_spanw_member(w, ab_object_meta(hub, names[i]));
    ab_copy_labels(w, ab_object_meta(hub, "labels"));
    ab_copy_sent_annotations(w, ab_object_meta(hub, "annotations"));
    ab_spanw_object_end(w);
}

ab_err ab_render_whole(const ab_object *hub, const char *agent, bool destination_mapping,
                       ab_buf *out)
{
    static const char *const left_out[] = {"metadata", "status", NULL};
    ab_spanw w = ab_spanw_to(out);
    (void)agent;
    (void)destination_mapping;
    ab_spanw_object(&w);
    ab_spanw_members(&w, ab_object_json(hub), left_out);
    ab_render_metadata(&w, hub);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}
