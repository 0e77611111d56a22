/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/base64.h"
#include "base/json/span.h"
#include "live/gopeer/wire/wire.h"

#include <stdio.h>

/* ----- requests ----- */

static void put_what(ab_spanw *w, ab_gopeer_redis_what what, ab_str key)
{
    static const char *const names[] = {"get", "subscribe", "ping"};
    static const char *const members[] = {"key", "channel", NULL};
    ab_spanw_key_object(w, names[what]);
    if (members[what] != NULL)
        ab_spanw_key_str(w, members[what], key);
    ab_spanw_object_end(w);
}

void ab_gopeer_wire_put_redis(const char *uuid, const char *connection, ab_gopeer_redis_what what,
                              ab_str key, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "uuid", ab_str_of(uuid));
    ab_spanw_key_str(&w, "connectionUuid", ab_str_of(connection));
    ab_spanw_key_object(&w, "body");
    put_what(&w, what, key);
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
}

/* ----- their responses ----- */

static bool read_error(ab_spanv said, ab_gopeer_redis_response *out)
{
    ab_spanv error = ab_span_get(said, "error");
    ab_buf text = ab_buf_up_to(sizeof(out->error));
    bool good = !ab_span_present(error) || ab_span_typeof(error) == AB_SPAN_STRING;
    if (good && ab_span_present(error) && ab_span_copy(error, &text) != AB_ERR_OK)
        ab_buf_clear(&text); /* longer than anyone reads */
    snprintf(out->error, sizeof(out->error), "%.*s", AB_STR_ARG(ab_buf_str(&text)));
    ab_buf_fini(&text);
    return good;
}

static ab_err read_value(ab_spanv said, ab_gopeer_redis_response *out, ab_buf *value)
{
    ab_spanv bytes = ab_span_get(said, "bytes");
    ab_span_type hit = ab_span_typeof(ab_span_get(said, "cacheHit"));
    if (hit != AB_SPAN_TRUE && hit != AB_SPAN_FALSE)
        return AB_ERR_PARSE;
    out->hit = hit == AB_SPAN_TRUE;
    if (!out->hit || ab_span_typeof(bytes) == AB_SPAN_NULL)
        return AB_ERR_OK;
    if (ab_span_typeof(bytes) != AB_SPAN_STRING || !ab_base64_decode(ab_span_plain(bytes), value))
        return ab_buf_status(value) == AB_ERR_OK ? AB_ERR_PARSE : ab_buf_status(value);
    return ab_buf_status(value);
}

static ab_err read_body(ab_spanv body, ab_gopeer_redis_response *out, ab_buf *value)
{
    ab_spanv get = ab_span_get(body, "get");
    ab_spanv subscribed = ab_span_get(body, "subscribeResponse");
    if (ab_span_present(get)) {
        out->what = AB_GOPEER_REDIS_GET;
        return read_error(get, out) ? read_value(get, out, value) : AB_ERR_PARSE;
    }
    if (ab_span_present(subscribed)) {
        out->what = AB_GOPEER_REDIS_SUBSCRIBE;
        return read_error(subscribed, out) ? AB_ERR_OK : AB_ERR_PARSE;
    }
    if (ab_span_present(ab_span_get(body, "pong")))
        out->what = AB_GOPEER_REDIS_PING;
    else if (ab_span_present(ab_span_get(body, "pushFromSubscribe")))
        out->what = AB_GOPEER_REDIS_MESSAGE;
    else
        return AB_ERR_PARSE;
    return AB_ERR_OK;
}

ab_err ab_gopeer_wire_read_redis(ab_str data, ab_gopeer_redis_response *out, ab_buf *value,
                                 ab_error *err)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(data, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    *out = (ab_gopeer_redis_response){0};
    e = read_body(ab_span_get(ab_span_root(doc), "body"), out, value);
    ab_span_wipe(doc);
    return e == AB_ERR_PARSE ? ab_fail(err, e, "it is not a response of redis") : e;
}

/* ----- requests that are asked of us ----- */

static ab_err read_key(ab_spanv said, const char *member, ab_gopeer_redis_asked *out)
{
    ab_buf text = ab_buf_up_to(sizeof(out->key));
    ab_err e = ab_span_copy(ab_span_get(said, member), &text);
    snprintf(out->key, sizeof(out->key), "%.*s", AB_STR_ARG(ab_buf_str(&text)));
    ab_buf_fini(&text);
    return e;
}

static ab_err read_request(ab_spanv body, ab_gopeer_redis_asked *out)
{
    ab_spanv get = ab_span_get(body, "get");
    ab_spanv subscribe = ab_span_get(body, "subscribe");
    if (ab_span_present(get)) {
        out->what = AB_GOPEER_REDIS_GET;
        return read_key(get, "key", out);
    }
    if (ab_span_present(subscribe)) {
        out->what = AB_GOPEER_REDIS_SUBSCRIBE;
        return read_key(subscribe, "channel", out);
    }
    out->what = AB_GOPEER_REDIS_PING;
    return ab_span_present(ab_span_get(body, "ping")) ? AB_ERR_OK : AB_ERR_INVALID;
}

ab_err ab_gopeer_wire_read_redis_asked(ab_str data, ab_gopeer_redis_asked *out, ab_error *err)
{
    ab_span *doc = NULL;
    *out = (ab_gopeer_redis_asked){0};
    ab_err e = ab_span_parse(data, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    ab_spanv root = ab_span_root(doc);
    snprintf(out->connection, sizeof(out->connection), "%.*s",
             AB_STR_ARG(ab_span_plain(ab_span_get(root, "connectionUuid"))));
    e = read_request(ab_span_get(root, "body"), out);
    ab_span_free(doc);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "it is not a request of redis");
}

static void put_value(ab_spanw *w, const ab_gopeer_redis_response *said, ab_str value)
{
    ab_buf text = ab_buf_secret_up_to(2u * AB_SPAN_SIZE_MAX);
    ab_base64_encode(value, &text);
    if (said->hit)
        ab_spanw_key_str(w, "bytes", ab_buf_str(&text));
    else
        ab_spanw_key_raw(w, "bytes", AB_STR("null"));
    ab_spanw_key_raw(w, "cacheHit", said->hit ? AB_STR("true") : AB_STR("false"));
    ab_buf_wipe(&text);
}

static void put_said(ab_spanw *w, const ab_gopeer_redis_asked *asked,
                     const ab_gopeer_redis_response *said, ab_str value)
{
    static const char *const names[] = {"get", "subscribeResponse", "pong", "pushFromSubscribe"};
    ab_spanw_key_object(w, names[said->what]);
    if (said->what == AB_GOPEER_REDIS_GET)
        put_value(w, said, value);
    if (said->what == AB_GOPEER_REDIS_GET || said->what == AB_GOPEER_REDIS_SUBSCRIBE)
        ab_spanw_key_str(w, "error", ab_str_of(said->error));
    if (said->what == AB_GOPEER_REDIS_MESSAGE)
        ab_spanw_key_str(w, "channelName", ab_str_of(asked->key));
    ab_spanw_object_end(w);
}

void ab_gopeer_wire_put_redis_response(const char *uuid, const ab_gopeer_redis_asked *asked,
                                       const ab_gopeer_redis_response *said, ab_str value,
                                       ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "uuid", ab_str_of(uuid));
    ab_spanw_key_str(&w, "connectionUuid", ab_str_of(asked->connection));
    ab_spanw_key_object(&w, "body");
    put_said(&w, asked, said, value);
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
}
