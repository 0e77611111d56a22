/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/cluster/counts.h"

#include "base/json/span.h"

#include <inttypes.h>
#include <zlib.h>

#define GZIP_BITS (15 + 16) /* 16: with gzip's header */
#define STEP      (16u * 1024)

/* What Argo CD leaves out is 0. @return false: it is not a count */
static bool read_count(ab_spanv object, const char *name, int64_t *out)
{
    ab_spanv v = ab_span_get(object, name);
    *out = 0;
    return !ab_span_present(v) || (ab_span_i64(v, out) == AB_ERR_OK && *out >= 0);
}

static bool read_counts(ab_spanv root, ab_spanv cache, ab_redis_cluster_counts *out)
{
    return ab_span_typeof(root) == AB_SPAN_OBJECT &&
           read_count(root, "applicationsCount", &out->applications) &&
           read_count(cache, "resourcesCount", &out->resources) &&
           read_count(cache, "apisCount", &out->apis);
}

/* @param cache  name of the member that holds the counts of the cache; NULL: there is none */
static ab_err read_json(ab_str text, const char *cache, ab_redis_cluster_counts *out)
{
    ab_span *doc = NULL;
    ab_redis_cluster_counts counts;
    ab_err e = ab_span_parse(text, &doc, NULL);
    if (e != AB_ERR_OK)
        return e;
    ab_spanv root = ab_span_root(doc);
    bool good = read_counts(root, cache == NULL ? root : ab_span_get(root, cache), &counts);
    ab_span_free(doc);
    if (!good)
        return AB_ERR_PARSE;
    *out = counts;
    return AB_ERR_OK;
}

/* @return inflate's */
static int inflate_step(z_stream *z, ab_buf *out)
{
    char *to = ab_buf_extend(out, STEP);
    if (to == NULL)
        return Z_MEM_ERROR;
    z->next_out = (Bytef *)to;
    z->avail_out = STEP;
    int rc = inflate(z, Z_NO_FLUSH);
    out->len -= z->avail_out;
    return rc;
}

static ab_err put_inflated(ab_str value, ab_buf *out)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)value.ptr, .avail_in = (uInt)value.len};
    if (inflateInit2(&z, GZIP_BITS) != Z_OK)
        return AB_ERR_NOMEM;
    int rc = Z_OK;
    while (rc == Z_OK)
        rc = inflate_step(&z, out);
    inflateEnd(&z);
    if (ab_buf_status(out) != AB_ERR_OK)
        return ab_buf_status(out);
    return rc == Z_STREAM_END ? AB_ERR_OK : AB_ERR_PARSE;
}

ab_err ab_redis_cluster_counts_read_info(ab_str value, bool gzip, ab_redis_cluster_counts *out)
{
    if (value.len > AB_REDIS_CLUSTER_INFO_MAX)
        return AB_ERR_TOOBIG;
    if (!gzip)
        return read_json(value, "cacheInfo", out);
    ab_buf text = ab_buf_up_to(AB_REDIS_CLUSTER_INFO_MAX);
    ab_err e = put_inflated(value, &text);
    if (e == AB_ERR_OK)
        e = read_json(ab_buf_str(&text), "cacheInfo", out);
    ab_buf_fini(&text);
    return e;
}

void ab_redis_cluster_counts_write(const ab_redis_cluster_counts *counts, ab_buf *out)
{
    ab_buf_printf(out,
                  "{\"applicationsCount\":%" PRId64 ",\"apisCount\":%" PRId64
                  ",\"resourcesCount\":%" PRId64 "}",
                  counts->applications, counts->apis, counts->resources);
}

ab_err ab_redis_cluster_counts_read(ab_str report, ab_redis_cluster_counts *out)
{
    return report.len > AB_REDIS_CLUSTER_REPORT_MAX ? AB_ERR_TOOBIG : read_json(report, NULL, out);
}

bool ab_redis_cluster_counts_are_same(const ab_redis_cluster_counts *a,
                                      const ab_redis_cluster_counts *b)
{
    return a->applications == b->applications && a->resources == b->resources && a->apis == b->apis;
}
