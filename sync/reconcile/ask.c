/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking for an effect: which answer is awaited is set before, for it may come at once.
 */
#include "sync/reconcile/trace_priv.h"

static const ab_effects *begin(ab_record *r, ab_step step)
{
    bool writes = step == AB_STEP_APPLY || step == AB_STEP_STATUS || step == AB_STEP_REMOVE;
    r->step = step;
    r->changed_meanwhile = false;
    if (writes) {
        ab_metric_add(r->reconciler->metrics.writes, 1);
        ab_reconcile_trace_asked(r);
    }
    return r->reconciler->effects;
}

void ab_reconcile_get(ab_record *r)
{
    const ab_effects *fx = begin(r, AB_STEP_GET);
    fx->get(fx->arg, ab_str_of(r->key), &r->asker);
}

void ab_reconcile_apply(ab_record *r, ab_object *object, ab_str version)
{
    const ab_effects *fx = begin(r, AB_STEP_APPLY);
    fx->apply(fx->arg, object, version, &r->asker);
}

void ab_reconcile_apply_text(ab_record *r, const ab_buf *text, ab_str version)
{
    ab_error err = {0};
    ab_object *object = NULL;
    ab_err e = ab_object_parse(ab_buf_str(text), &object, &err);
    if (e == AB_ERR_OK)
        ab_reconcile_apply(r, object, version);
    else
        ab_reconcile_fail(r, e, &err);
    ab_object_unref(object);
}

void ab_reconcile_edit(ab_record *r, const ab_object *object, const ab_app_edit *edit)
{
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_app_edited(object, edit, &text);
    if (e == AB_ERR_OK)
        ab_reconcile_apply_text(r, &text, ab_object_version(object));
    else
        ab_reconcile_fail(r, e, NULL);
    ab_buf_wipe(&text);
}

void ab_reconcile_patch_status(ab_record *r, ab_str status, ab_str stamp,
                               const ab_precondition *must_be)
{
    const ab_effects *fx = begin(r, AB_STEP_STATUS);
    fx->patch_status(fx->arg, ab_str_of(r->key), status, stamp, must_be, &r->asker);
}

void ab_reconcile_remove(ab_record *r, const ab_precondition *must_be, bool foreground)
{
    const ab_effects *fx = begin(r, AB_STEP_REMOVE);
    fx->remove(fx->arg, ab_str_of(r->key), must_be, foreground, &r->asker);
}

void ab_reconcile_save(ab_record *r, const ab_received_state *received)
{
    const ab_effects *fx = begin(r, AB_STEP_SAVE);
    if (r->inbox.head != NULL)
        r->inbox.head->begun = true; /* a newer state comes behind it now, not in its place */
    fx->save(fx->arg, ab_str_of(r->key), received, &r->asker);
}

void ab_reconcile_load(ab_record *r, ab_object *object)
{
    const ab_effects *fx = begin(r, AB_STEP_LOAD);
    r->after_load = object == NULL ? NULL : ab_object_ref(object);
    fx->load(fx->arg, ab_str_of(r->key), &r->asker);
}

bool ab_reconcile_received(ab_record *r, ab_object *object, ab_object **out)
{
    ab_error err = {0};
    if (r->row == NULL) {
        ab_reconcile_load(r, object);
        return false;
    }
    ab_err e = r->row->released ? AB_ERR_NOTFOUND : ab_object_parse(r->row->desired, out, &err);
    if (e == AB_ERR_OK)
        return true;
    if (err.text[0] == '\0')
        (void)ab_fail(&err, e, "%s", ab_err_text(e));
    ab_error_prefix(&err, "last received state");
    ab_reconcile_fail(r, e, &err);
    return false;
}
