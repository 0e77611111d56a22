/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/kafka/api_versions.h"

#include <string.h>

#define KEY                 18
#define VERSION             3
#define CORRELATION         1
#define CLIENT              "argobusctl"
#define UNSUPPORTED_VERSION 35 /* Kafka's error code */
#define TAG_SUPPORTED       0
#define TAG_FINALIZED       2

/* ----- the request ----- */

static void put_number(uint64_t value, size_t bytes, ab_buf *out)
{
    for (size_t i = bytes; i > 0; i--)
        ab_buf_putc(out, (char)(value >> (8 * (i - 1)) & 0xff));
}

/* A compact string, of fewer than 127 bytes. */
static void put_compact(ab_str text, ab_buf *out)
{
    put_number(text.len + 1, 1, out);
    ab_buf_put(out, text);
}

void ab_api_versions_put_request(ab_buf *out)
{
    ab_str client = AB_STR(CLIENT);
    ab_str version = AB_STR(AB_VERSION);
    size_t head = 2 + 2 + 4 + 2 + client.len + 1;
    size_t body = 1 + client.len + 1 + version.len + 1;
    put_number(head + body, 4, out);
    put_number(KEY, 2, out);
    put_number(VERSION, 2, out);
    put_number(CORRELATION, 4, out);
    put_number(client.len, 2, out);
    ab_buf_put(out, client);
    put_number(0, 1, out); /* no tagged fields */
    put_compact(client, out);
    put_compact(version, out);
    put_number(0, 1, out);
}

/* ----- the answer ----- */

typedef struct {
    ab_str rest;
    bool ended; /* too early: all that is read now is 0 */
} reader;

static ab_str take(reader *r, uint64_t len)
{
    if (r->ended || len > r->rest.len) {
        r->ended = true;
        return AB_STR_NONE;
    }
    ab_str taken = {r->rest.ptr, (size_t)len};
    r->rest = (ab_str){r->rest.ptr + len, r->rest.len - (size_t)len};
    return taken;
}

static uint64_t take_number(reader *r, size_t bytes)
{
    ab_str taken = take(r, bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < taken.len; i++)
        value = value << 8 | (unsigned char)taken.ptr[i];
    return value;
}

static int16_t take_i16(reader *r)
{
    return (int16_t)take_number(r, 2);
}

static uint64_t take_varint(reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint64_t byte = take_number(r, 1);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    r->ended = true;
    return 0;
}

/* Of compact strings and arrays, 0 being their null. */
static uint64_t take_count(reader *r)
{
    uint64_t count = take_varint(r);
    return count == 0 ? 0 : count - 1;
}

static void skip_tags(reader *r)
{
    for (uint64_t left = take_varint(r); left > 0 && !r->ended; left--) {
        take_varint(r);
        take(r, take_varint(r));
    }
}

static void read_keys(reader *r, ab_api_versions *out)
{
    for (uint64_t left = take_count(r); left > 0 && !r->ended; left--) {
        int16_t key = take_i16(r);
        take_i16(r); /* the oldest version */
        int16_t newest = take_i16(r);
        skip_tags(r);
        if (!r->ended && key >= 0 && key < AB_API_KEYS)
            out->newest[key] = newest;
    }
}

/* @return the higher one of the two levels of metadata.version; 0: it is not among them */
static int16_t read_features(reader *r)
{
    int16_t level = 0;
    for (uint64_t left = take_count(r); left > 0 && !r->ended; left--) {
        ab_str name = take(r, take_count(r));
        int16_t one = take_i16(r);
        int16_t other = take_i16(r);
        skip_tags(r);
        if (ab_str_is(name, "metadata.version"))
            level = one > other ? one : other;
    }
    return level > 0 ? level : 0;
}

static void read_tags(reader *r, ab_api_versions *out)
{
    for (uint64_t left = take_varint(r); left > 0 && !r->ended; left--) {
        uint64_t tag = take_varint(r);
        reader field = {take(r, take_varint(r)), r->ended};
        if (tag == TAG_SUPPORTED)
            out->supported = read_features(&field);
        else if (tag == TAG_FINALIZED)
            out->finalized = read_features(&field);
        r->ended = r->ended || field.ended;
    }
}

ab_err ab_api_versions_read(ab_str answer, ab_api_versions *out, ab_error *err)
{
    reader r = {answer, false};
    ab_api_versions v = {0};
    memset(v.newest, 0xff, sizeof(v.newest)); /* -1 each */
    uint64_t correlation = take_number(&r, 4);
    int16_t code = take_i16(&r);
    v.is_refused = code == UNSUPPORTED_VERSION;
    if (!v.is_refused) {
        read_keys(&r, &v);
        take_number(&r, 4); /* throttled for so many ms */
        read_tags(&r, &v);
    }
    if (r.ended || correlation != CORRELATION)
        return ab_fail(err, AB_ERR_PARSE, "not an answer of Kafka to ApiVersions");
    if (code != 0 && !v.is_refused)
        return ab_fail(err, AB_ERR_PARSE, "the broker answered to ApiVersions with error %d", code);
    *out = v;
    return AB_ERR_OK;
}
