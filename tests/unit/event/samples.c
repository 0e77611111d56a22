/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include "schema/attributes.h"

ab_event_draft sample_application(void)
{
    ab_event_draft d = {0};
    ab_event_set_text(&d, AB_CE_ID, "0b54a5de-7f6c-4a8e-9d0c-9a3f6a2c1d11");
    ab_event_set_text(&d, AB_CE_SOURCE, "argobus://principal/hub");
    ab_event_set_text(&d, AB_CE_TYPE, "io.argoproj.argocd-agent.event.spec-update");
    ab_event_set_text(&d, AB_CE_SUBJECT, "argocd/guestbook");
    ab_event_set_text(&d, AB_CE_TIME, "2026-01-02T03:04:05.678901Z");
    ab_event_set_text(&d, AB_CE_DATASCHEMA, "application");
    ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, "application/json");
    ab_event_set_text(&d, AB_CE_RESOURCEID, "guestbook_c4f5");
    ab_event_set_text(&d, AB_CE_EVENTID, "guestbook_c4f5_4711");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, "application/argocd/guestbook");
    ab_event_set_text(&d, AB_CE_WRITEREPOCH, "1767323045678901");
    ab_event_set_text(&d, AB_CE_OBJVERSION, "18446744073709551615");
    d.data = AB_STR("{\"n\": 9007199254740993, \"e\":1E400,\"z\":\"a\\u0000b\\ud83d\\ude00\",\n"
                    "\t\"spec\":{\"b\":1,\"a\":[ ]},\"-0\":-0.0}");
    return d;
}

ab_event_draft sample_state(void)
{
    ab_event_draft d = sample_least();
    ab_event_set_text(&d, AB_CE_ID, "w1.1767323045.1767323045678901");
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&d, AB_CE_TYPE, "io.argoproj.argocd-agent.event.spec-update");
    ab_event_set_text(&d, AB_CE_SUBJECT, "w1/guestbook");
    ab_event_set_text(&d, AB_CE_DATASCHEMA, "application");
    ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, "application/json");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, "Application/w1/guestbook");
    ab_event_set_text(&d, AB_CE_WRITEREPOCH, "1767323045");
    ab_event_set_text(&d, AB_CE_OBJVERSION, "1767323045678901");
    d.data = AB_STR("{\"metadata\":{\"name\":\"guestbook\"}}");
    return d;
}

ab_event_draft sample_all_types(void)
{
    ab_event_draft d = sample_least();
    ab_event_set_text(&d, AB_CE_TIME, "1969-12-31T23:59:59.500Z");
    ab_event_set_text(&d, "quoted", "\"back\\slash\" / tab-less");
    ab_event_set_text(&d, "wide", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
    ab_event_set_typed(&d, AB_STR("flag"), AB_STR("true"), AB_ATTR_BOOLEAN);
    ab_event_set_typed(&d, AB_STR("noflag"), AB_STR("false"), AB_ATTR_BOOLEAN);
    ab_event_set_typed(&d, AB_STR("least"), AB_STR("-2147483648"), AB_ATTR_INTEGER);
    ab_event_set_typed(&d, AB_STR("zero"), AB_STR("0"), AB_ATTR_INTEGER);
    ab_event_set_typed(&d, AB_STR("raw"), AB_STR("AP9B"), AB_ATTR_BYTES);
    ab_event_set_typed(&d, AB_STR("link"), AB_STR("https://example.org/a%20b"), AB_ATTR_URI);
    ab_event_set_typed(&d, AB_STR("path"), AB_STR("../x"), AB_ATTR_URI_REF);
    ab_event_set_typed(&d, AB_STR("when"), AB_STR("2026-11-21T08:00:00.000000001Z"),
                       AB_ATTR_TIMESTAMP);
    ab_event_set_text(&d, "traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    return d;
}

ab_event_draft sample_least(void)
{
    ab_event_draft d = {0};
    ab_event_set_text(&d, AB_CE_SPECVERSION, "1.0");
    ab_event_set_text(&d, AB_CE_ID, "1");
    ab_event_set_text(&d, AB_CE_SOURCE, "s");
    ab_event_set_text(&d, AB_CE_TYPE, "t");
    return d;
}

ab_event *must_make(const ab_event_draft *d)
{
    ab_error err = {0};
    ab_event *e = NULL;
    assert_err(ab_event_new(d, &e, &err), AB_ERR_OK, &err);
    return e;
}

void assert_str(ab_str actual, ab_str expected)
{
    if (!ab_str_eq(actual, expected))
        fail_msg("%zu bytes \"%.*s\", expected %zu bytes \"%.*s\"", actual.len, AB_STR_ARG(actual),
                 expected.len, AB_STR_ARG(expected));
}

void assert_attr(const ab_event *e, const char *name, const char *value)
{
    assert_str(ab_event_attr(e, name), ab_str_of(value));
}

/** Attributes have short names, so a copy on the stack ends them with a NUL. */
static ab_str attr_by_name(const ab_event *e, ab_str name)
{
    char text[AB_EVENT_ATTR_NAME_MAX + 1];
    snprintf(text, sizeof(text), "%.*s", AB_STR_ARG(name));
    return ab_event_attr(e, text);
}

void assert_same_event(const ab_event *a, const ab_event *b)
{
    assert_int_equal(ab_event_attr_count(a), ab_event_attr_count(b));
    for (size_t i = 0; i < ab_event_attr_count(a); i++) {
        ab_attr attr = ab_event_attr_at(a, i);
        assert_str(attr_by_name(b, attr.name), attr.value);
    }
    assert_str(ab_event_data(b), ab_event_data(a));
}

void assert_err(ab_err actual, ab_err expected, const ab_error *err)
{
    if (actual != expected)
        fail_msg("\"%s\" (%s), expected \"%s\"", ab_err_text(actual), err == NULL ? "" : err->text,
                 ab_err_text(expected));
}

void assert_says(const ab_error *err, const char *part)
{
    if (strstr(err->text, part) == NULL)
        fail_msg("error \"%s\" does not say \"%s\"", err->text, part);
}
