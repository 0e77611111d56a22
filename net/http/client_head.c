/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of an answer.
 */
#include "net/http/client_priv.h"

static void put_lower(ab_buf *out, ab_str name)
{
    char *to = ab_buf_extend(out, name.len);
    for (size_t i = 0; i < name.len && to != NULL; i++) {
        char c = name.ptr[i];
        to[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
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
        const ab_str name = ab_str_of(header->name);
        put_lower(names, name);
        fields[*count].name = (ab_str){NULL, name.len};
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
    ab_http_field fields[AB_HTTP_FIELDS_MAX];
    size_t count = 0;
    ab_buf names = ab_buf_up_to(1024u * 1024);
    ab_err e = collect(c->easy, &names, fields, &count);
    if (e == AB_ERR_OK)
        c->request.on_head(c->request.arg, status, fields, count);
    ab_buf_fini(&names);
    return e;
}

ab_err ab_http_read_head(ab_http_call *c, ab_str line)
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
