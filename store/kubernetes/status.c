/* SPDX-License-Identifier: Apache-2.0
 *
 * The status alone does not tell enough: 403 is a missing right, a full quota, a namespace on its
 * way out or a webhook; 422 an object that is not valid or a patch that does not fit. The reasons
 * and causes of a Status do; where there are none only the message is left to look at.
 */
#include "store/kubernetes/status.h"

#include "base/json/document.h"

#include <string.h>

/* Larger bodies are not a Status. */
#define STATUS_MAX (1024u * 1024)
/* Of what a server says that is not a Status. */
#define EXCERPT_MAX 160

typedef struct {
    int code;
    const char *message; /* NUL-terminated */
    const cJSON *status; /* NULL when the body is not a Status */
} refusal;

static bool says(const refusal *r, const char *text)
{
    return strstr(r->message, text) != NULL;
}

static const cJSON *details_of(const refusal *r)
{
    return cJSON_GetObjectItemCaseSensitive(r->status, "details");
}

static bool has_cause(const refusal *r, const char *reason)
{
    const cJSON *causes = cJSON_GetObjectItemCaseSensitive(details_of(r), "causes");
    const cJSON *c;
    cJSON_ArrayForEach(c, causes)
    {
        if (ab_doc_is(c, "reason", reason))
            return true;
    }
    return false;
}

static bool has_reason(const refusal *r, const char *reason)
{
    return ab_doc_is(r->status, "reason", reason);
}

static ab_err of_forbidden(const refusal *r)
{
    if (has_cause(r, "NamespaceTerminating"))
        return AB_ERR_UNAVAILABLE;
    if (says(r, "exceeded quota"))
        return AB_ERR_NOSPACE;
    return AB_ERR_DENIED;
}

/* A JSON patch that does not fit is answered with a Status that names no object and no cause. */
static ab_err of_unprocessable(const refusal *r, ab_kube_why *why)
{
    if (r->status == NULL || cJSON_GetArraySize(details_of(r)) > 0)
        return AB_ERR_INVALID;
    *why = AB_KUBE_WHY_PATCH;
    return AB_ERR_CONFLICT;
}

static ab_err of_server(const refusal *r)
{
    if (says(r, "request is too large"))
        return AB_ERR_TOOBIG;
    if (says(r, "database space exceeded"))
        return AB_ERR_NOSPACE;
    return r->code == 504 ? AB_ERR_TIMEOUT : AB_ERR_UNAVAILABLE;
}

/* Whoever has looked for an object, or for its namespace, says which is missing. Nothing is known
 * of the object where the kind is not served (a CRD that is put in again) or a proxy answers for an
 * API server that it does not reach. */
static ab_err of_missing(const refusal *r, ab_kube_why *why)
{
    if (ab_doc_text(details_of(r), "name").len == 0)
        return AB_ERR_UNAVAILABLE;
    if (ab_doc_is(details_of(r), "kind", "namespaces"))
        *why = AB_KUBE_WHY_NAMESPACE;
    return AB_ERR_NOTFOUND;
}

/* Of a CRD that is deleted, 403 or 405 by version. It ends when the CRD is installed again. */
static bool is_kind_terminating(const refusal *r)
{
    return r->code < 500 && says(r, "not allowed while custom resource definition is terminating");
}

static ab_err classify(const refusal *r, ab_kube_why *why)
{
    if (is_kind_terminating(r))
        return AB_ERR_UNAVAILABLE;
    if (r->code < 500 && says(r, "admission webhook") && says(r, "denied the request"))
        return AB_ERR_INVALID;
    switch (r->code) {
    case 401: /* says nothing about the object, and ends with the next credential */
        return AB_ERR_UNAVAILABLE;
    case 403:
        return of_forbidden(r);
    case 404:
        return of_missing(r, why);
    case 405:
        return AB_ERR_UNSUPPORTED;
    case 408:
        return AB_ERR_TIMEOUT;
    case 409:
        return has_reason(r, "AlreadyExists") ? AB_ERR_EXISTS : AB_ERR_CONFLICT;
    case 410: /* of a version or a token: nothing is said of an object */
        *why = AB_KUBE_WHY_EXPIRED;
        return AB_ERR_UNAVAILABLE;
    case 412:
        return AB_ERR_CONFLICT;
    case 413:
        return AB_ERR_TOOBIG;
    case 422:
        return of_unprocessable(r, why);
    case 429:
        return AB_ERR_UNAVAILABLE;
    default:
        return r->code >= 400 && r->code < 500 ? AB_ERR_INVALID : of_server(r);
    }
}

/* The beginning of a text that is not a Status, on one line. */
static void put_excerpt(ab_str body, ab_buf *out)
{
    size_t len = body.len < EXCERPT_MAX ? body.len : EXCERPT_MAX;
    for (size_t i = 0; i < len; i++)
        ab_buf_putc(out, body.ptr[i] >= ' ' && body.ptr[i] <= '~' ? body.ptr[i] : ' ');
}

/* Behind the last `what`. @return absent: there is none */
static ab_str behind_last(ab_str text, ab_str what)
{
    ab_str rest = AB_STR_NONE;
    const char *at = text.ptr;
    while ((at = memmem(at, text.len - (size_t)(at - text.ptr), what.ptr, what.len)) != NULL) {
        at += what.len;
        rest = (ab_str){at, text.len - (size_t)(at - text.ptr)};
    }
    return rest;
}

/* Of an object that is invalid after a patch, which may be a Secret, the API server quotes all,
 * with a backslash before each of its quotes, and says why behind it (handlers/patch.go). */
static void put_unquoted(ab_str message, ab_buf *out)
{
    static const char patched[] = "patch: Invalid value: ";
    const char *quote = memmem(message.ptr, message.len, patched, sizeof(patched) - 1);
    if (quote == NULL) {
        ab_buf_put(out, message);
        return;
    }
    size_t before = (size_t)(quote - message.ptr) + sizeof(patched) - 1;
    ab_str why = behind_last(message, AB_STR("}\": "));
    ab_buf_put(out, (ab_str){message.ptr, before});
    ab_buf_put(out, why.ptr != NULL ? why : AB_STR("the server does not say why"));
}

static void put_message(const cJSON *status, ab_str body, ab_buf *out)
{
    ab_str message = ab_doc_text(status, "message");
    if (message.ptr != NULL)
        put_unquoted(message, out);
    if (message.ptr == NULL || ab_buf_status(out) != AB_ERR_OK)
        put_excerpt(body, out);
}

ab_err ab_kube_status_explain(int http, ab_str body, const char *request, ab_kube_why *why,
                              ab_error *err)
{
    cJSON *doc = NULL;
    int64_t code = http;
    refusal r = {0};
    ab_buf message = ab_buf_up_to(64 * 1024);
    if (ab_doc_parse(body, STATUS_MAX, &doc, NULL) == AB_ERR_OK && ab_doc_is(doc, "kind", "Status"))
        r.status = doc;
    if (http == 0 && ab_doc_i64(r.status, "code", &code) != AB_ERR_OK)
        code = 500;
    put_message(r.status, body, &message);
    r.code = code > 0 && code < 1000 ? (int)code : 500;
    r.message = message.ptr == NULL ? "" : message.ptr;
    *why = AB_KUBE_WHY_OTHER;
    ab_err e = classify(&r, why);
    if (*why == AB_KUBE_WHY_PATCH)
        (void)ab_fail(err, e, "%s: %d the uid differs, or the object was changed meanwhile",
                      request, r.code);
    else
        (void)ab_fail(err, e, "%s: %d %s", request, r.code, r.message);
    if (err != NULL)
        err->foreign = r.code;
    ab_buf_fini(&message);
    cJSON_Delete(doc);
    return e;
}
