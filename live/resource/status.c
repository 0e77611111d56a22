/* SPDX-License-Identifier: Apache-2.0
 *
 * The reasons are those of k8s.io/apimachinery (metav1.StatusReason), by which client-go decides
 * whether to try again. It knows none for 502.
 */
#include "live/resource/status.h"

#include "base/json/document.h"

static const struct {
    int code;
    const char *reason;
    const char *text;
} REASONS[] = {
    {400, "BadRequest", "the request is not valid"},
    {401, "Unauthorized", "there is no identity"},
    {403, "Forbidden", "the policy refuses it"},
    {404, "NotFound", "it is not there"},
    {405, "MethodNotAllowed", "the method is not served"},
    {409, "Conflict", "it was changed underneath"},
    {413, "RequestEntityTooLarge", "the body is too large"},
    {415, "UnsupportedMediaType", "the type of the body is not served"},
    {422, "Invalid", "the object is not valid"},
    {429, "TooManyRequests", "too many requests at once"},
    {500, "InternalError", "it failed"},
    {502, "", "the agent broke the answer off"},
    {503, "ServiceUnavailable", "the agent is not reachable"},
    {504, "Timeout", "the agent did not answer in time"},
};

void ab_resource_status_put(int code, const char *message, ab_buf *out)
{
    const char *reason = "";
    const char *text = "refused";
    for (size_t i = 0; i < sizeof(REASONS) / sizeof(REASONS[0]); i++) {
        if (REASONS[i].code == code) {
            reason = REASONS[i].reason;
            text = REASONS[i].text;
        }
    }
    if (message != NULL && ab_str_is_utf8(ab_str_of(message)))
        text = message;
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_doc_add_str(doc, "kind", AB_STR("Status")) &&
                    ab_doc_add_str(doc, "apiVersion", AB_STR("v1")) &&
                    cJSON_AddObjectToObject(doc, "metadata") != NULL &&
                    ab_doc_add_str(doc, "status", AB_STR("Failure")) &&
                    ab_doc_add_str(doc, "message", ab_str_of(text)) &&
                    ab_doc_add_str(doc, "reason", ab_str_of(reason)) &&
                    ab_doc_add_i64(doc, "code", code);
    (void)ab_doc_finish(doc, complete, out); /* the buffer keeps the failure */
}
