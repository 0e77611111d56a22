/* SPDX-License-Identifier: Apache-2.0
 *
 * argocd-agent's checksum of what counts of an object: SHA-256 of JSON as Go writes a map, names
 * sorted, with <, > and & escaped.
 */
#include "transport/grpc/compat/compat_priv.h"

#include <openssl/evp.h>

/* .spec of an Application without its destination, which is not the same at both ends. */
static void write_spec(ab_spanv spec, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    for (ab_spanv v = ab_span_first(spec); ab_span_present(v); v = ab_span_next(v))
        if (!ab_str_is(ab_span_plain_key(v), "destination"))
            ab_spanw_member(&w, v);
    ab_spanw_object_end(&w);
}

/* What counts, as one JSON text. */
static ab_err write_content(ab_spanv object, ab_str kind, ab_buf *out)
{
    bool data = ab_str_is(kind, "Secret") || ab_str_is(kind, "ConfigMap");
    ab_spanv content = ab_span_get(object, data ? "data" : "spec");
    ab_span *doc = NULL;
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    if (ab_str_is(kind, "Application"))
        write_spec(content, &text);
    else
        ab_buf_put(&text, ab_span_raw(content));
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_span_parse(ab_buf_str(&text), &doc, NULL);
    if (e == AB_ERR_OK)
        e = ab_span_canonical(ab_span_root(doc), out);
    ab_span_free(doc);
    ab_buf_wipe(&text);
    return e;
}

/* In canonical JSON these characters are inside of strings. */
static void escape_as_go(ab_str text, ab_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '<' || c == '>' || c == '&')
            ab_buf_printf(out, "\\u%04x", (unsigned)c);
        else
            ab_buf_putc(out, c);
    }
}

bool ab_compat_checksum(ab_spanv object, ab_str kind, uint8_t out[AB_COMPAT_CHECKSUM])
{
    ab_buf canonical = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX * 2);
    ab_err e = write_content(object, kind, &canonical);
    if (e == AB_ERR_OK) {
        escape_as_go(ab_buf_str(&canonical), &text);
        e = ab_buf_status(&text);
    }
    bool done =
        e == AB_ERR_OK && EVP_Digest(text.ptr, text.len, out, NULL, EVP_sha256(), NULL) == 1;
    ab_buf_wipe(&canonical);
    ab_buf_wipe(&text);
    return done;
}
