/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubelets write timestamps in one form of fixed width, so that those of one log are ordered as
 * texts. The API server cuts sinceTime to the second, hence the lines that come again.
 *
 * A kubelet takes the last lines of a log first, and leaves out of them what is too old: it cannot
 * be asked for the last lines before a time with all that follow. So they are asked for as of now.
 * If they all are newer than the opening, lines between may be missing: then all since the opening
 * is asked for, and none of before. See logs.h.
 */
#include "live/resource/logs.h"

#include "base/core/clock.h"
#include "base/core/rfc3339.h"
#include "live/resource/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node's clock may be behind ours by so much. What is shown for it is older than what was asked
 * for, and nothing is missing. */
#define CLOCKS_S 5
#define NONE     UINT64_MAX

bool ab_resource_logs_can_resume(const ab_resource_map *m)
{
    bool stamps = false;
    size_t limits = 0;
    return ab_resource_map_is_core(m, "pods") && ab_str_is(m->subresource, "log") && m->follow &&
           ab_resource_query_bool(m->query, "timestamps", &stamps, NULL) == AB_ERR_OK && stamps &&
           ab_resource_query_find(m->query, "limitBytes", NULL, &limits) == AB_ERR_OK &&
           limits == 0;
}

void ab_resource_logs_init(ab_resource_logs *l, int64_t opened_us)
{
    memset(l, 0, sizeof(*l));
    l->opened_s = opened_us / 1000000 - CLOCKS_S;
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

/* What cannot be read is in the far future. */
static int64_t seconds_of(ab_str stamp)
{
    int64_t seconds;
    int32_t nanos;
    return ab_rfc3339_parse(stamp, &seconds, &nanos) ? seconds : INT64_MAX;
}

/* Whether lines of before this one, the first, are missing. */
static bool has_overrun(ab_resource_logs *l, ab_str stamp)
{
    if (!l->unsure)
        return false;
    l->unsure = false;
    l->overrun = seconds_of(stamp) > l->opened_s;
    return l->overrun;
}

static ab_err take_line(ab_resource_logs *l, ab_str line, ab_buf *out)
{
    ab_digest digest;
    ab_str text = line;
    ab_str stamp = ab_str_cut(&text, ' ');
    if (text.ptr == NULL || stamp.len < 20 || stamp.len >= AB_RESOURCE_STAMP_MAX)
        return AB_ERR_PARSE;
    if (has_overrun(l, stamp))
        return AB_ERR_CONFLICT;
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

static const char *const BEGINS[] = {"sinceTime", "sinceSeconds", "tailLines", NULL};

static uint64_t number_of(ab_str query, const char *name)
{
    uint64_t number = NONE;
    size_t count = 0;
    ab_buf text = ab_buf_up_to(32);
    if (ab_resource_query_find(query, name, &text, &count) != AB_ERR_OK || count == 0 ||
        ab_str_to_u64(ab_buf_str(&text), &number) != AB_ERR_OK)
        number = NONE;
    ab_buf_fini(&text);
    return number;
}

static void put_since(ab_str query, const char *const *left_out, const char *stamp, ab_buf *out)
{
    ab_resource_query_without(query, left_out, out);
    ab_buf_puts(out, "&sinceTime=");
    ab_resource_query_encode(ab_str_of(stamp), out);
}

/* Of a log of which nothing was passed on. */
static void put_beginning(ab_resource_logs *l, ab_str query, ab_buf *out)
{
    static const char *const SECONDS[] = {"sinceSeconds", NULL};
    char stamp[AB_TIME_TEXT];
    uint64_t tail = number_of(query, "tailLines");
    uint64_t seconds = number_of(query, "sinceSeconds");
    bool all = tail == 0 || l->overrun;
    int64_t from_s = l->opened_s;
    if (!all && seconds < (uint64_t)from_s)
        from_s -= (int64_t)seconds;
    ab_time_format_seconds(from_s * 1000000, stamp);
    l->unsure = tail != NONE && !all;
    if (all || seconds != NONE)
        put_since(query, all ? BEGINS : SECONDS, stamp, out);
    else
        ab_buf_put(out, query);
}

void ab_resource_logs_resume(ab_resource_logs *l, const ab_resource_map *m, ab_buf *target)
{
    ab_buf_clear(&l->line);
    l->seen = 0;
    l->resumed = l->stamp[0] != '\0';
    ab_buf query = ab_buf_up_to(AB_RESOURCE_TARGET_MAX);
    if (l->resumed)
        put_since(m->query, BEGINS, l->stamp, &query);
    else
        put_beginning(l, m->query, &query);
    ab_resource_map again = *m; /* only its parts are looked at, which borrow from *m */
    again.query = ab_buf_str(&query);
    ab_resource_map_put_path(&again, target);
    ab_buf_fini(&query);
}
