/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/page/answer.h"

#include <stdlib.h>

struct ab_page_answer {
    ab_page_answer_source source;
    uv_timer_t moment; /* active: the text is kept */
    ab_buf text;
};

ab_page_answer *ab_page_answer_new(uv_loop_t *loop, const ab_page_answer_source *source)
{
    ab_page_answer *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return NULL;
    a->source = *source;
    a->moment.data = a;
    ab_buf_init(&a->text, source->most);
    (void)uv_timer_init(loop, &a->moment); /* cannot fail */
    return a;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void ab_page_answer_free(ab_page_answer *a)
{
    if (a == NULL)
        return;
    ab_buf_fini(&a->text);
    uv_close((uv_handle_t *)&a->moment, on_closed);
}

void ab_page_answer_forget(ab_page_answer *a)
{
    uv_timer_stop(&a->moment);
    ab_buf_fini(&a->text);
    ab_buf_init(&a->text, a->source.most);
}

static void on_moment(uv_timer_t *timer)
{
    ab_page_answer_forget(timer->data);
}

const ab_buf *ab_page_answer_get(ab_page_answer *a)
{
    if (uv_is_active((const uv_handle_t *)&a->moment))
        return &a->text;
    ab_page_answer_forget(a);
    a->source.write(a->source.arg, &a->text);
    if (ab_buf_status(&a->text) == AB_ERR_OK)
        uv_timer_start(&a->moment, on_moment, a->source.keep_ms, 0);
    return &a->text;
}
