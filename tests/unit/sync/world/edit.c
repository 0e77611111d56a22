/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/edit.h"

#include "sync/deletion/watermark.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define TEXT_MAX (1 << 16)

void put_app(fake_store *s, const char *ns, const char *name, int n, const char *meta,
             const char *rest)
{
    char json[4096];
    int len = snprintf(json, sizeof(json),
                       "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\","
                       "\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"%s},"
                       "\"spec\":{\"n\":%d,\"destination\":{\"server\":\"x\"}}%s}",
                       name, ns, meta, n, rest);
    assert_true(len > 0 && (size_t)len < sizeof(json));
    ab_object *o = sample_object(json);
    fake_store_put(s, o);
    ab_object_unref(o);
}

void put_mark(fake_store *s)
{
    static const char *const agents[] = {"w1", "w2", "w3", "a1", "a2", "a3"};
    ab_watermark_draft watermark;
    ab_object *o = NULL;
    if (fake_store_find(s, MARK) != NULL)
        return;
    const ab_watermark_sent all = {.all = {UINT64_MAX, UINT64_MAX}};
    ab_watermark_begin(&watermark, 0, "argocd", "", NULL);
    for (size_t i = 0; i < sizeof(agents) / sizeof(agents[0]); i++)
        ab_watermark_add(&watermark, agents[i], &all);
    assert_int_equal(ab_watermark_finish(&watermark, &o), AB_ERR_OK);
    fake_store_put(s, o);
    ab_object_unref(o);
}

static ab_err add_line(void *arg, ab_str agent, const ab_watermark_sent *told)
{
    char name[64];
    snprintf(name, sizeof(name), "%.*s", AB_STR_ARG(agent));
    ab_watermark_add(arg, name, told);
    return AB_ERR_OK;
}

void crowd_mark(fake_store *s, size_t agents)
{
    ab_watermark_draft watermark;
    char name[32];
    ab_object *former = fake_store_find(s, MARK);
    ab_object *o = NULL;
    ab_watermark_begin(&watermark, 0, "argocd", "of a former version", NULL);
    if (former != NULL)
        assert_int_equal(ab_watermark_read(former, add_line, &watermark), AB_ERR_OK);
    for (size_t i = 0; i < agents; i++) {
        snprintf(name, sizeof(name), "x%zu", i);
        ab_watermark_add(&watermark, name, &(ab_watermark_sent){.all = {7, i + 1}});
    }
    assert_int_equal(ab_watermark_finish(&watermark, &o), AB_ERR_OK);
    fake_store_put(s, o);
    ab_object_unref(o);
}

bool is_mark(const ab_object *o)
{
    return ab_str_starts(ab_str_of(ab_object_key(o)), MARK);
}

size_t count_objects(const fake_store *s)
{
    size_t count = 0;
    for (size_t i = 0; fake_store_at(s, i) != NULL; i++)
        count += !is_mark(fake_store_at(s, i));
    return count;
}

static void put_text(fake_store *s, ab_buf *text)
{
    assert_int_equal(ab_buf_status(text), AB_ERR_OK);
    ab_object *o = sample_object(text->ptr);
    fake_store_put(s, o);
    ab_object_unref(o);
    ab_buf_fini(text);
}

static ab_spanw begin(ab_buf *text)
{
    ab_buf_init(text, TEXT_MAX);
    ab_spanw w = ab_spanw_to(text);
    ab_spanw_object(&w);
    return w;
}

static void copy_but(ab_spanw *w, ab_spanv object, const char *left_out)
{
    for (ab_spanv v = ab_span_first(object); ab_span_present(v); v = ab_span_next(v))
        if (!ab_str_is(ab_span_plain_key(v), left_out))
            ab_spanw_member(w, v);
}

static ab_object *there(fake_store *s, const char *key)
{
    ab_object *o = fake_store_find(s, key);
    assert_non_null(o);
    return o;
}

void set_field(fake_store *s, const char *key, const char *member, const char *json)
{
    ab_buf text;
    ab_spanw w = begin(&text);
    copy_but(&w, ab_object_json(there(s, key)), member);
    ab_spanw_key_raw(&w, member, ab_str_of(json));
    ab_spanw_object_end(&w);
    put_text(s, &text);
}

void set_spec(fake_store *s, const char *key, int n)
{
    char spec[80];
    snprintf(spec, sizeof(spec), "{\"n\":%d,\"destination\":{\"server\":\"x\"}}", n);
    set_field(s, key, "spec", spec);
}

void set_in(fake_store *s, const char *key, const char *map, const char *name, const char *value)
{
    ab_buf text;
    ab_object *o = there(s, key);
    ab_spanw w = begin(&text);
    copy_but(&w, ab_object_json(o), "metadata");
    ab_spanw_key(&w, AB_STR("metadata"));
    ab_spanw_object(&w);
    copy_but(&w, ab_span_get(ab_object_json(o), "metadata"), map);
    ab_spanw_key(&w, ab_str_of(map));
    ab_spanw_object(&w);
    copy_but(&w, ab_object_meta(o, map), name);
    ab_spanw_key_str(&w, name, ab_str_of(value));
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    put_text(s, &text);
}

void drop_finalizers(fake_store *s, const char *key)
{
    ab_buf text;
    ab_object *o = there(s, key);
    ab_spanw w = begin(&text);
    copy_but(&w, ab_object_json(o), "metadata");
    ab_spanw_key(&w, AB_STR("metadata"));
    ab_spanw_object(&w);
    copy_but(&w, ab_span_get(ab_object_json(o), "metadata"), "finalizers");
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    put_text(s, &text);
}

static int number(ab_spanv v)
{
    int64_t n;
    return ab_span_i64(v, &n) == AB_ERR_OK ? (int)n : -1;
}

int spec_of(const ab_object *o)
{
    return o == NULL ? -1 : number(ab_span_get(ab_object_field(o, "spec"), "n"));
}

int status_of(const ab_object *o)
{
    return o == NULL ? -1 : number(ab_span_get(ab_object_field(o, "status"), "n"));
}

bool has_in(const ab_object *o, const char *map, const char *name, const char *value)
{
    ab_spanv v = ab_span_get(ab_object_meta(o, map), name);
    return value == NULL ? !ab_span_present(v) : ab_span_is(v, value);
}
