/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a manifest file: each object found in it can be replaced and taken out without
 * touching the others, or the change is refused; and any bytes as a sidecar.
 */
#include "store/directory/manifest/stream.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ab_str kind = {"Application", 11};
static const ab_str ns = {"ns", 2};

static void change(ab_str text, const ab_stream *before, const ab_manifest *m, ab_str json)
{
    ab_buf out;
    ab_stream after = {0};
    ab_buf_init(&out, 1 << 24);
    const ab_stream_edit edit = {kind, ns, m->name, json, false};
    if (ab_stream_change(text, &edit, &out, NULL) == AB_ERR_OK) {
        ab_err e = ab_stream_read(ab_buf_str(&out), kind, ns, &after, NULL);
        assert(e == AB_ERR_OK && after.readable);
        assert(after.documents == before->documents - (json.ptr == NULL ? 1 : 0));
        const ab_manifest *now = ab_stream_find(&after, m->name);
        assert(json.ptr == NULL || (now != NULL && ab_digest_eq(&now->content, &m->content)));
        ab_stream_fini(&after);
    }
    ab_buf_fini(&out);
}

static void read_sidecar(ab_str text)
{
    ab_sidecar s = {0};
    ab_buf out;
    ab_buf_init(&out, 1 << 24);
    if (ab_sidecar_parse(text, &s, NULL) == AB_ERR_OK) {
        ab_sidecar again = {0};
        ab_err e = ab_sidecar_format(&s, &out);
        assert(e == AB_ERR_OK || e == AB_ERR_INVALID);
        if (e == AB_ERR_OK) {
            e = ab_sidecar_parse(ab_buf_str(&out), &again, NULL);
            assert(e == AB_ERR_OK);
        }
        ab_sidecar_fini(&again);
    }
    ab_sidecar_fini(&s);
    ab_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str text = {(const char *)data, size};
    ab_stream s = {0};
    read_sidecar(text);
    ab_err e = ab_stream_read(text, kind, ns, &s, NULL);
    assert(e == AB_ERR_OK);
    for (size_t i = 0; i < s.count && i < 4; i++) {
        change(text, &s, &s.items[i], ab_span_raw(ab_span_root(s.items[i].json)));
        change(text, &s, &s.items[i], AB_STR_NONE);
    }
    ab_stream_fini(&s);
    return 0;
}
