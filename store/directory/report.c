/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/report.h"

#include "store/directory/index.h"
#include "store/directory/manifest/manifest.h"

#include <stdlib.h>

static const char *reason_of(ab_err code)
{
    switch (code) {
    case AB_ERR_PARSE:
        return "parse";
    case AB_ERR_INVALID:
        return "invalid";
    case AB_ERR_TOOBIG:
        return "too_big";
    case AB_ERR_EXISTS:
        return "two_files";
    case AB_ERR_DENIED:
        return "denied";
    case AB_ERR_NOSPACE:
        return "no_space";
    default:
        return "io";
    }
}

void ab_dir_fault(ab_dir *d, const char *where, const ab_error *err)
{
    ab_store_fault(&d->base, reason_of(err->code), where, err);
}

/* YAML takes `"1"` without its quotes for a number, and then it says something else. */
static void warn_of_unquoted(const ab_dir *d, const ab_dir_entry *e, const ab_object *object,
                             const char *member)
{
    ab_spanv map = ab_object_meta(object, member);
    for (ab_spanv v = ab_span_first(map); ab_span_present(v); v = ab_span_next(v))
        if (ab_span_typeof(v) != AB_SPAN_STRING)
            AB_WARN(d->base.env.log, STORE,
                    "a label or annotation is not a string, and means nothing: put its value into "
                    "quotes",
                    AB_KV("object", e->key), AB_KV("name", ab_span_plain_key(v)));
}

void ab_dir_report(ab_dir *d, ab_dir_entry *e, ab_object *object)
{
    uint64_t version = 0;
    if (ab_str_to_u64(ab_object_version(object), &version) != AB_ERR_OK || version == e->version)
        return;
    char *head = NULL;
    if (ab_manifest_head(object, &head) == AB_ERR_OK) {
        free(e->head);
        e->head = head;
    }
    e->version = version;
    warn_of_unquoted(d, e, object, "labels");
    warn_of_unquoted(d, e, object, "annotations");
    d->base.env.events.on_change(d->base.env.events.arg, AB_STORE_UPDATED, object);
}

void ab_dir_report_gone(ab_dir *d, ab_dir_entry *e, ab_object *last)
{
    ab_object *kept = NULL;
    ab_error err = {0};
    if (last == NULL && e->head != NULL &&
        ab_object_parse(ab_str_of(e->head), &kept, &err) != AB_ERR_OK)
        ab_dir_fault(d, e->key, &err);
    bool known = e->version != 0;
    ab_store_change how = e->unobserved ? AB_STORE_ABSENT : AB_STORE_DELETED;
    ab_dir_entry_remove(d, e);
    ab_object *object = last != NULL ? last : kept;
    if (known && object != NULL)
        d->base.env.events.on_change(d->base.env.events.arg, how, object);
    ab_object_unref(kept);
}

void ab_dir_finish_stop(ab_dir *d)
{
    if (!d->stopping || d->stopped == NULL || d->ops > 0 || d->load != NULL || d->sweeping ||
        d->handles > 0)
        return;
    void (*stopped)(void *) = d->stopped;
    d->stopped = NULL;
    stopped(d->stopped_arg);
}
