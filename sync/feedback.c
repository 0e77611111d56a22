/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/feedback.h"

#include "base/core/utf8.h"
#include "base/json/document.h"

#define DOCUMENT_MAX ((size_t)1 << 20)
/* Of a text: it is kept for each object that has one. */
#define TEXT_MAX ((size_t)4096)

ab_err ab_feedback_error(ab_str name, ab_str ns, const char *message, ab_buf *out)
{
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_doc_add_str(doc, "resourceName", name) &&
                    ab_doc_add_str(doc, "resourceNamespace", ns) &&
                    ab_doc_add_str(doc, "message", ab_str_of(message));
    return ab_doc_finish(doc, complete, out);
}

ab_err ab_feedback_answer(ab_str id, const char *why, ab_buf *out)
{
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_doc_add_str(doc, "id", id) &&
                    (why == NULL || ab_doc_add_str(doc, "error", ab_str_of(why)));
    return ab_doc_finish(doc, complete, out);
}

/* As many whole characters as there may be. */
static ab_str shortened(ab_str text)
{
    size_t len = 0;
    size_t next = ab_utf8_length(text);
    while (next > 0 && len + next <= TEXT_MAX) {
        len += next;
        next = ab_utf8_length((ab_str){text.ptr + len, text.len - len});
    }
    return (ab_str){text.ptr, len};
}

char *ab_feedback_text(const ab_event *event, const char *member, const char *prefix)
{
    cJSON *doc = NULL;
    char *out = NULL;
    ab_str data = ab_event_data(event);
    if (data.ptr == NULL || ab_doc_parse(data, DOCUMENT_MAX, &doc, NULL) != AB_ERR_OK)
        return NULL;
    ab_str text = ab_doc_text(doc, member);
    if (text.ptr != NULL) {
        ab_buf joined = ab_buf_up_to(2 * TEXT_MAX);
        ab_buf_puts(&joined, prefix);
        ab_buf_put(&joined, shortened(text));
        out = ab_buf_take(&joined);
    }
    cJSON_Delete(doc);
    return out;
}
