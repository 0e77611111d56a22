/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of an answer, and the body of a request that goes in pieces. curl asks for that body
 * when it can send; when there is nothing it pauses, and has to be told when there is more.
 */
#include "net/http/client_priv.h"

/* What curl has taken is dropped in steps. */
#define COMPACT_BYTES (64u * 1024)

/* ---- the answer's head ---- */

static void put_lower(ab_buf *out, const char *name)
{
    for (; *name != '\0'; name++)
        ab_buf_putc(out, (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name));
}

/* Names go to `names` first: what grows may move. */
static ab_err collect(CURL *easy, ab_buf *names, ab_http_field *fields, size_t *count)
{
    struct curl_header *header = NULL;
    size_t at = 0;
    *count = 0;
    while ((header = curl_easy_nextheader(easy, CURLH_HEADER, -1, header)) != NULL) {
        if (*count == AB_HTTP_FIELDS_MAX)
            return AB_ERR_TOOBIG;
        put_lower(names, header->name);
        fields[*count].name = (ab_str){NULL, strlen(header->name)};
        fields[(*count)++].value = ab_str_of(header->value);
    }
    for (size_t i = 0; i < *count && ab_buf_status(names) == AB_ERR_OK; i++) {
        fields[i].name.ptr = names->ptr + at;
        at += fields[i].name.len;
    }
    return ab_buf_status(names);
}

static ab_err tell_head(ab_http_call *c, int status)
{
    ab_buf names;
    ab_http_field fields[AB_HTTP_FIELDS_MAX];
    size_t count = 0;
    ab_buf_init(&names, 1024u * 1024);
    ab_err e = collect(c->easy, &names, fields, &count);
    if (e == AB_ERR_OK)
        c->request.on_head(c->request.arg, status, fields, count);
    ab_buf_fini(&names);
    return e;
}

ab_err ab_http_stream_read_head(ab_http_call *c, ab_str line)
{
    long status = 0;
    bool ends = line.len > 0 && (line.ptr[0] == '\r' || line.ptr[0] == '\n');
    if (!ends || c->told_head || c->request.on_head == NULL)
        return AB_ERR_OK;
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200)
        return AB_ERR_OK;
    c->told_head = true;
    return tell_head(c, (int)status);
}

/* ---- the request's body ---- */

static void drop_sent(ab_http_call *c)
{
    if (c->up_sent < c->up.len && c->up_sent < COMPACT_BYTES)
        return;
    c->up.len -= c->up_sent;
    if (c->up.len == 0)
        ab_buf_fini(&c->up);
    else
        memmove(c->up.ptr, c->up.ptr + c->up_sent, c->up.len);
    c->up_sent = 0;
}

static size_t on_read(char *into, size_t size, size_t count, void *arg)
{
    ab_http_call *c = arg;
    size_t room = size * count;
    size_t left = c->up.len - c->up_sent;
    size_t len = left < room ? left : room;
    /* curl would wait for the answer to a body that is too short. */
    bool cut = len == 0 && c->up_finished && c->up_left > 0;
    if (c->cancelled || c->http->freed || cut)
        return CURL_READFUNC_ABORT;
    if (len == 0)
        return c->up_finished ? 0 : CURL_READFUNC_PAUSE;
    memcpy(into, c->up.ptr + c->up_sent, len);
    c->up_sent += len;
    drop_sent(c);
    if (c->up_full && c->up.len - c->up_sent < AB_HTTP_UPLOAD_FULL / 2) {
        c->up_full = false;
        if (c->request.on_writable != NULL)
            c->request.on_writable(c->request.arg);
    }
    return len;
}

bool ab_http_stream_set_upload(ab_http_call *c, const ab_http_request *r)
{
    curl_easy_setopt(c->easy, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(c->easy, CURLOPT_READDATA, c);
    curl_easy_setopt(c->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->upload_bytes);
    return curl_easy_setopt(c->easy, CURLOPT_UPLOAD, 1L) == CURLE_OK;
}

CURLcode ab_http_stream_unpause(ab_http_call *c)
{
    bool waits = c->request.upload && c->up.len == c->up_sent && !c->up_finished;
    int what = (c->paused ? CURLPAUSE_RECV : 0) | (waits ? CURLPAUSE_SEND : 0);
    return ab_http_loop_pause(c->http->curl, c->easy, what);
}
