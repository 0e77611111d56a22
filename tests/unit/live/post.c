/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/live/post.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

void post_put(post *p, bool up, ab_event *event, ab_sent done, void *arg)
{
    letter *l = calloc(1, sizeof(*l));
    *l = (letter){.event = ab_event_ref(event), .up = up, .done = done, .arg = arg};
    STAILQ_INSERT_TAIL(p, l, at);
}

letter *post_take(post *p)
{
    letter *l = STAILQ_FIRST(p);
    STAILQ_REMOVE_HEAD(p, at);
    return l;
}

void letter_free(letter *l)
{
    ab_event_unref(l->event);
    free(l);
}

void post_drop(post *p)
{
    while (!STAILQ_EMPTY(p)) {
        letter *l = post_take(p);
        free(l->arg);
        letter_free(l);
    }
}

ab_event *event_with_data(const ab_event *of, ab_str data)
{
    ab_event_draft d = {.data = data};
    ab_event *e = NULL;
    for (size_t i = 0; i < ab_event_attr_count(of); i++) {
        ab_attr a = ab_event_attr_at(of, i);
        ab_event_set_typed(&d, a.name, a.value, a.type);
    }
    assert_int_equal(ab_event_new(&d, &e, NULL), AB_ERR_OK);
    return e;
}
