/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/samples.h"

#include "schema/attributes.h"
#include "schema/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static int64_t mono_ms(void *arg)
{
    return *(int64_t *)arg;
}

static int64_t wall_us(void *arg)
{
    return *(int64_t *)arg * 1000;
}

ab_clock sample_clock(int64_t *ms)
{
    return (ab_clock){mono_ms, wall_us, ms};
}

static ab_event *make(const char *id, const char *key, const char *data, uint64_t version)
{
    ab_event *event = NULL;
    ab_event_draft d = {.data = ab_str_of(data)};
    ab_event_set_text(&d, AB_CE_ID, id);
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_SPEC_UPDATE));
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 1);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, version);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    return event;
}

ab_event *sample_event(const char *key, const char *data, uint64_t version)
{
    return make("e", key, data, version);
}

ab_event *sample_command(const char *id, uint64_t version)
{
    char key[80];
    snprintf(key, sizeof(key), AB_KEY_COMMAND "%s", id);
    return make(id, key, "{}", version);
}

ab_object *sample_object(const char *json)
{
    ab_object *o = NULL;
    assert_int_equal(ab_object_parse(ab_str_of(json), &o, NULL), AB_ERR_OK);
    return o;
}

ab_span *sample_json(const char *text)
{
    ab_span *doc = NULL;
    assert_int_equal(ab_span_parse(ab_str_of(text), &doc, NULL), AB_ERR_OK);
    return doc;
}
