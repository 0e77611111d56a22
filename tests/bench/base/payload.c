/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/payload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Far above the largest event that is measured. */
#define APPLICATION_MAX (256u * 1024)

/* splitmix64: small, and the same on every machine. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void put_uuid(ab_buf *out, uint64_t *state)
{
    uint64_t a = next_random(state);
    uint64_t b = next_random(state);
    ab_buf_printf(out, "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
                  a >> 32, a >> 16 & 0xffff, a & 0xffff, b >> 48, b & 0xffffffffffff);
}

static void put_parameters(ab_buf *out, uint64_t *state, size_t end)
{
    for (unsigned i = 0; out->len < end; i++) {
        ab_buf_printf(out,
                      "%s{\"forceString\":true,\"name\":\"services[%u].image.tag\",\"value\":\"",
                      i == 0 ? "" : ",", i);
        put_uuid(out, state);
        ab_buf_puts(out, "\"}");
        if (ab_buf_status(out) != AB_ERR_OK)
            return;
    }
}

void ab_bench_application(ab_buf *out, size_t index, unsigned revision, size_t bytes)
{
    static const char tail[] =
        "]}},\"syncPolicy\":{\"automated\":{\"prune\":true,\"selfHeal\":true},"
        "\"syncOptions\":[\"CreateNamespace=true\"]}}}";
    uint64_t state = index;
    size_t end = out->len + bytes - sizeof(tail);
    ab_buf_printf(out,
                  "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"
                  "\"annotations\":{\"example.com/change\":\"");
    put_uuid(out, &state);
    ab_buf_printf(out,
                  "\"},\"labels\":{\"team\":\"team-%zu\",\"tier\":\"backend\"},"
                  "\"name\":\"app-%zu\"},\"spec\":{\"destination\":{\"namespace\":\"team-%zu\","
                  "\"server\":\"https://kubernetes.default.svc\"},\"project\":\"default\","
                  "\"source\":{\"path\":\"charts/app\",\"repoURL\":\"https://git.example.com/"
                  "team-%zu/deploy.git\",\"targetRevision\":\"v1.0.%u\",\"helm\":{\"parameters\":[",
                  index % 40, index, index % 40, index % 40, revision);
    put_parameters(out, &state, end);
    ab_buf_puts(out, tail);
}

unsigned ab_bench_revision(ab_str application)
{
    static const char before[] = "\"targetRevision\":\"v1.0.";
    const char *at = memmem(application.ptr, application.len, before, sizeof(before) - 1);
    return at == NULL ? 0 : (unsigned)strtoul(at + sizeof(before) - 1, NULL, 10);
}

bool ab_bench_pool_init(ab_bench_pool *pool, size_t bytes)
{
    bool ok = true;
    for (size_t i = 0; i < AB_BENCH_POOL; i++) {
        ab_buf_init(&pool->text[i], APPLICATION_MAX);
        ab_bench_application(&pool->text[i], i, 0, bytes);
        ok = ok && ab_buf_status(&pool->text[i]) == AB_ERR_OK;
    }
    return ok;
}

void ab_bench_pool_fini(ab_bench_pool *pool)
{
    for (size_t i = 0; i < AB_BENCH_POOL; i++)
        ab_buf_fini(&pool->text[i]);
}

ab_str ab_bench_pool_at(const ab_bench_pool *pool, size_t i)
{
    return ab_buf_str(&pool->text[i % AB_BENCH_POOL]);
}
