/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/server_side.h"

#include "store/store.h"
#include "tests/bench/transport/member.h"

#include <inttypes.h>
#include <stdio.h>

#define OBJECT_MAX (1024u * 1024)

static bool is_one_of(ab_str name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (ab_str_is(name, *names))
            return true;
    return false;
}

static void write_members(ab_spanw *w, ab_spanv object, const char *const *but)
{
    for (ab_spanv v = ab_span_first(object); ab_span_present(v); v = ab_span_next(v))
        if (!is_one_of(ab_span_plain_key(v), but))
            ab_spanw_member(w, v);
}

static void write_annotations(ab_spanw *w, ab_spanv annotations, ab_str stamp)
{
    static const char *const but[] = {AB_STORE_STATUS_VERSION, NULL};
    ab_spanw_key(w, AB_STR("annotations"));
    ab_spanw_object(w);
    write_members(w, annotations, but);
    ab_spanw_key_str(w, AB_STORE_STATUS_VERSION, stamp);
    ab_spanw_object_end(w);
}

static void write_metadata(ab_spanw *w, ab_spanv metadata, const ab_bench_server_side *set)
{
    static const char *const but[] = {"uid", "resourceVersion", "generation", "annotations", NULL};
    char version[24];
    ab_spanv annotations = ab_span_get(metadata, "annotations");
    (void)snprintf(version, sizeof(version), "%" PRIu64, set->version);
    ab_spanw_key(w, AB_STR("metadata"));
    ab_spanw_object(w);
    write_members(w, metadata, but);
    if (set->stamp.ptr != NULL)
        write_annotations(w, annotations, set->stamp);
    else
        ab_spanw_member(w, annotations);
    if (set->namespace != NULL)
        ab_spanw_key_str(w, "namespace", ab_str_of(set->namespace));
    ab_spanw_key_str(w, "uid", set->uid);
    ab_spanw_key_str(w, "resourceVersion", ab_str_of(version));
    ab_spanw_key(w, AB_STR("generation"));
    ab_spanw_int(w, set->generation);
    ab_spanw_object_end(w);
}

ab_object *ab_bench_server_compose(ab_spanv content, const ab_bench_server_side *set)
{
    static const char *const but[] = {"metadata", "status", NULL};
    ab_buf text;
    ab_object *out = NULL;
    ab_error err = {0};
    ab_buf_init(&text, OBJECT_MAX);
    ab_spanw w = ab_spanw_to(&text);
    ab_spanw_object(&w);
    write_members(&w, content, but);
    write_metadata(&w, ab_span_get(content, "metadata"), set);
    if (ab_span_present(set->status)) {
        ab_spanw_key(&w, AB_STR("status"));
        ab_spanw_value(&w, set->status);
    }
    ab_spanw_object_end(&w);
    ab_bench_must(ab_object_parse(ab_buf_str(&text), &out, &err), "an object", &err);
    ab_buf_fini(&text);
    return out;
}

int64_t ab_bench_server_generation(const ab_object *object)
{
    int64_t generation = 0;
    ab_bench_must(ab_span_i64(ab_object_meta(object, "generation"), &generation),
                  ab_object_key(object), NULL);
    return generation;
}
