/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/kubernetes/review.h"

#include "base/json/document.h"

#include <string.h>

#define BODY_MAX   4096
#define ANSWER_MAX ((size_t)1024 * 1024)
#define REVIEWS    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

static void put_review(const ab_review *r, ab_str verb, ab_buf *out)
{
    size_t len = strcspn(r->resource, "/");
    ab_buf_puts(out, "{\"apiVersion\":\"authorization.k8s.io/v1\","
                     "\"kind\":\"SelfSubjectAccessReview\",\"spec\":{\"resourceAttributes\":{");
    if (r->namespace_name != NULL)
        ab_buf_printf(out, "\"namespace\":\"%s\",", r->namespace_name);
    if (r->name != NULL)
        ab_buf_printf(out, "\"name\":\"%s\",", r->name);
    if (r->resource[len] == '/')
        ab_buf_printf(out, "\"subresource\":\"%s\",", r->resource + len + 1);
    ab_buf_printf(out, "\"group\":\"%s\",\"resource\":\"%.*s\",\"verb\":\"%.*s\"}}}", r->group,
                  (int)len, r->resource, AB_STR_ARG(verb));
}

static bool is_allowed(ab_str text)
{
    cJSON *doc = NULL;
    if (ab_doc_parse(text, ANSWER_MAX, &doc, NULL) != AB_ERR_OK)
        return false;
    const cJSON *status = cJSON_GetObjectItemCaseSensitive(doc, "status");
    bool allowed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(status, "allowed"));
    cJSON_Delete(doc);
    return allowed;
}

bool ab_review_ask(ab_cluster_api *api, const ab_review *r, ab_str verb, bool *allowed,
                   ab_findings *out)
{
    ab_cluster_answer answer;
    ab_buf body = ab_buf_up_to(BODY_MAX);
    put_review(r, verb, &body);
    ab_err e = ab_cluster_api_ask(api, "POST", REVIEWS, ab_buf_str(&body), &answer);
    bool answered = e == AB_ERR_OK && answer.status == 201;
    if (answered)
        *allowed = is_allowed(ab_buf_str(&answer.body));
    else
        ab_findings_add(out, AB_FOUND_ERROR, "SelfSubjectAccessReview",
                        "let the program's user review its rights (every user may by default)",
                        "the API server did not answer: status %d %s", answer.status,
                        answer.err.text);
    ab_cluster_answer_fini(&answer);
    ab_buf_fini(&body);
    return answered;
}
