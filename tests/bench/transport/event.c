/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/transport/event.h"

#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "tests/bench/transport/run.h"
#include "transport/grpc/wire.h"

#include <string.h>

#define MESSAGE_MAX (256u * 1024)
#define EPOCH       1767225600
/* Digits at the end of a uid; the numbers of the events are added to it. */
#define UID_END 100000000000

/* What an event and its acknowledgement have in common. */
typedef struct {
    char key[32];
    char id[64];
    char resource[80];
} texts;

/* printf would take longer than what is measured of an event. @return the end, a NUL */
static char *put_text(char *to, const char *text)
{
    size_t len = strlen(text);
    memcpy(to, text, len + 1);
    return to + len;
}

static char *put_number(char *to, uint64_t number)
{
    char digits[21];
    char *at = digits + sizeof(digits) - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return put_text(to, at);
}

static void put_common(ab_event_draft *d, size_t i, uint64_t epoch, texts *t)
{
    ab_bench_key(i, t->key);
    put_number(put_text(put_number(put_text(t->id, "w0."), epoch), "."), i + 1);
    put_number(put_text(put_text(t->resource, t->key + sizeof("Application/bench/") - 1),
                        "_3f2b9c1e-7a64-4d0f-9b1c-"),
               UID_END + i);
    ab_event_set_text(d, AB_CE_ID, t->id);
    ab_event_set_text(d, AB_CE_RESOURCEID, t->resource);
    ab_event_set_text(d, AB_CE_PRINCIPALUID, "8d3a5f60-5d1f-4c35-8f0e-3f9b57c0a1d2");
    ab_event_set_text(d, AB_CE_PARTITIONKEY, t->key);
    ab_event_set_u64(d, AB_CE_WRITEREPOCH, epoch);
    ab_event_set_u64(d, AB_CE_OBJVERSION, i + 1);
    ab_event_set_text(d, AB_CE_CONTENTHASH, "9f86d081884c7d659a2feaa0c55ad015");
}

ab_err ab_bench_event(const ab_bench_pool *pool, size_t i, const char *source, uint64_t epoch,
                      ab_event **out, ab_error *err)
{
    return ab_bench_event_of(ab_bench_pool_at(pool, i), i, source, epoch, out, err);
}

ab_err ab_bench_event_of(ab_str data, size_t i, const char *source, uint64_t epoch, ab_event **out,
                         ab_error *err)
{
    texts t;
    ab_event_draft d = {.data = data};
    put_common(&d, i, epoch, &t);
    ab_event_set_text(&d, AB_CE_SOURCE, source);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_SPEC_UPDATE));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    ab_event_set_text(&d, AB_CE_SUBJECT, t.key + sizeof("Application/") - 1);
    ab_event_set_text(&d, AB_CE_TIME, "2026-01-02T03:04:05.678Z");
    ab_event_set_text(&d, AB_CE_DATACONTENTTYPE, "application/json");
    return ab_event_new(&d, out, err);
}

/* --- messages --- */

static ab_err make_ack(ab_event **out, ab_error *err)
{
    texts t;
    ab_event_draft d = {0};
    put_common(&d, 0, EPOCH, &t);
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_AGENT "w0");
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_PROCESSED));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_EVENT_PROCESSED));
    return ab_event_new(&d, out, err);
}

/* Takes the reference. */
static ab_err encode(ab_event *event, ab_buf *out)
{
    ab_str head;
    ab_buf bytes;
    ab_buf_init(&bytes, MESSAGE_MAX);
    ab_buf_init(out, MESSAGE_MAX);
    ab_err e = ab_grpc_write_event(event, &bytes, &head);
    if (e == AB_ERR_OK) {
        ab_buf_put(out, head);
        ab_buf_put(out, ab_event_data(event));
    }
    ab_buf_fini(&bytes);
    ab_event_unref(event);
    return e == AB_ERR_OK ? ab_buf_status(out) : e;
}

ab_err ab_bench_messages_init(ab_bench_messages *m, const ab_bench_pool *pool, ab_error *err)
{
    ab_event *event = NULL;
    ab_err e = make_ack(&event, err);
    if (e == AB_ERR_OK)
        e = encode(event, &m->ack);
    for (size_t i = 0; i < AB_BENCH_POOL && e == AB_ERR_OK; i++) {
        e = ab_bench_event(pool, i, AB_SOURCE_PRINCIPAL, EPOCH, &event, err);
        if (e == AB_ERR_OK)
            e = encode(event, &m->event[i]);
    }
    return e;
}
