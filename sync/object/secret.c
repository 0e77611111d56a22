/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/secret.h"

#include "base/core/base64.h"
#include "sync/object/render.h"

#define PROJECT_MAX 253
/* Rises when the sealed payload is made in another way. */
#define RENDERING "4"

ab_err ab_secret_project(const ab_object *secret, char **out)
{
    *out = NULL;
    ab_buf name = ab_buf_up_to(PROJECT_MAX);
    ab_str text = ab_span_plain(ab_span_get(ab_object_field(secret, "data"), "project"));
    bool named = text.ptr != NULL && ab_base64_decode(text, &name) &&
                 ab_buf_status(&name) == AB_ERR_OK && ab_str_is_dns_subdomain(ab_buf_str(&name));
    ab_err e = ab_buf_status(&name) == AB_ERR_NOMEM ? AB_ERR_NOMEM : AB_ERR_OK;
    if (named) {
        *out = ab_str_dup(ab_buf_str(&name));
        e = *out == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
    }
    ab_buf_fini(&name);
    return e;
}

ab_err ab_secret_content(const ab_object *secret, ab_buf *out)
{
    ab_spanv data = ab_object_field(secret, "data");
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_raw(&w, "data", ab_span_present(data) ? ab_span_raw(data) : AB_STR("{}"));
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

/* Only these members: whatever else an object may hold could tell its data. */
ab_err ab_secret_sealed(const ab_object *secret, ab_str sealed, ab_buf *out)
{
    static const char *const names[] = {"apiVersion", "kind", "type", "immutable"};
    ab_spanw w = ab_spanw_object_to(out);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ab_spanw_member(&w, ab_object_field(secret, names[i]));
    ab_render_metadata(&w, secret);
    ab_spanw_key_str(&w, "sealed", sealed);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

ab_err ab_secret_context(const ab_object *payload, char out[AB_DIGEST_HEX])
{
    static const char *const left_out[] = {"sealed", NULL};
    ab_digest digest;
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_spanw w = ab_spanw_object_to(&text);
    ab_spanw_members(&w, ab_object_json(payload), left_out);
    ab_spanw_object_end(&w);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_span_digest_text(ab_buf_str(&text), &digest);
    if (e == AB_ERR_OK)
        ab_digest_format(&digest, out);
    ab_buf_fini(&text);
    return e;
}

ab_err ab_secret_sealed_digest(const ab_object *secret, const char *recipient, ab_digest *out)
{
    ab_spanv writes = ab_object_meta(secret, "managedFields");
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_buf_printf(&text, "sealed " RENDERING " %.*s %.*s %s", AB_STR_ARG(ab_object_uid(secret)),
                  AB_STR_ARG(ab_object_version(secret)), recipient);
    /* An API server that was restored from a backup gives versions out a second time. */
    ab_err e = ab_span_canonical(writes, &text);
    if (e == AB_ERR_OK)
        e = ab_digest_of(ab_buf_str(&text), out);
    ab_buf_fini(&text);
    return e;
}
