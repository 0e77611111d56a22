/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubelets write timestamps in one form of fixed width, so that those of one log are ordered as
 * texts. The API server cuts sinceTime to the second, hence the lines that come again. See logs.h.
 */
#include "live/resource/logs.h"

#include "live/resource/query.h"

#include <stdio.h>
#include <string.h>

bool ab_resource_logs_can_resume(const ab_resource_map *m)
{
    bool stamps = false;
    size_t limits = 0;
    return ab_resource_map_is_core(m, "pods") && ab_str_is(m->subresource, "log") && m->follow &&
           ab_resource_query_bool(m->query, "timestamps", &stamps, NULL) == AB_ERR_OK && stamps &&
           ab_resource_query_find(m->query, "limitBytes", NULL, &limits) == AB_ERR_OK &&
           limits == 0;
}

void ab_resource_logs_init(ab_resource_logs *l)
{
    memset(l, 0, sizeof(*l));
    ab_buf_init(&l->line, AB_RESOURCE_LINE_MAX);
}

void ab_resource_logs_fini(ab_resource_logs *l)
{
    ab_buf_fini(&l->line);
}

/* Whether the line was passed on before the stream was lost. One that is newer than all that were
 * was not: the log has been rotated then, and the last line with it. */
static bool is_known(ab_resource_logs *l, ab_str stamp, const ab_digest *digest)
{
    if (!l->resumed)
        return false;
    if (ab_str_cmp(stamp, ab_str_of(l->newest)) > 0) {
        l->resumed = false;
        return false;
    }
    if (ab_digest_eq(digest, &l->digest) && ++l->seen == l->same)
        l->resumed = false; /* what follows is new */
    return true;
}

static void remember(ab_resource_logs *l, ab_str stamp, const ab_digest *digest)
{
    l->same = ab_digest_eq(digest, &l->digest) ? l->same + 1 : 1;
    l->digest = *digest;
    (void)snprintf(l->stamp, sizeof(l->stamp), "%.*s", AB_STR_ARG(stamp));
    if (ab_str_cmp(stamp, ab_str_of(l->newest)) > 0)
        memcpy(l->newest, l->stamp, sizeof(l->newest));
}

static ab_err take_line(ab_resource_logs *l, ab_str line, ab_buf *out)
{
    ab_digest digest;
    const char *space = memchr(line.ptr, ' ', line.len);
    size_t len = space == NULL ? 0 : (size_t)(space - line.ptr);
    if (len < 20 || len >= AB_RESOURCE_STAMP_MAX)
        return AB_ERR_PARSE;
    ab_str stamp = {line.ptr, len};
    ab_err e = ab_digest_of(line, &digest);
    if (e != AB_ERR_OK || is_known(l, stamp, &digest))
        return e;
    remember(l, stamp, &digest);
    ab_buf_put(out, line);
    return ab_buf_status(out);
}

ab_err ab_resource_logs_feed(ab_resource_logs *l, ab_str piece, ab_buf *out)
{
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && piece.len > 0) {
        const char *end = memchr(piece.ptr, '\n', piece.len);
        size_t len = end == NULL ? piece.len : (size_t)(end - piece.ptr) + 1;
        ab_buf_put(&l->line, (ab_str){piece.ptr, len});
        e = ab_buf_status(&l->line);
        if (e == AB_ERR_OK && end != NULL) {
            e = take_line(l, ab_buf_str(&l->line), out);
            ab_buf_clear(&l->line);
        }
        piece = (ab_str){piece.ptr + len, piece.len - len};
    }
    return e;
}

void ab_resource_logs_end(ab_resource_logs *l, ab_buf *out)
{
    ab_buf_put(out, ab_buf_str(&l->line));
    ab_buf_clear(&l->line);
}

void ab_resource_logs_resume(ab_resource_logs *l, const ab_resource_map *m, ab_buf *target)
{
    static const char *const BEGINS[] = {"sinceTime", "sinceSeconds", "tailLines", NULL};
    ab_buf query;
    ab_buf_clear(&l->line);
    l->seen = 0;
    l->resumed = l->stamp[0] != '\0';
    ab_buf_init(&query, AB_RESOURCE_TARGET_MAX);
    ab_resource_query_without(m->query, BEGINS, &query);
    if (l->resumed) {
        ab_buf_puts(&query, "&sinceTime=");
        ab_resource_query_encode(ab_str_of(l->stamp), &query);
    }
    ab_resource_map again = *m; /* only its parts are looked at, which borrow from *m */
    again.query = l->resumed ? ab_buf_str(&query) : m->query;
    ab_resource_map_put_path(&again, target);
    ab_buf_fini(&query);
}
