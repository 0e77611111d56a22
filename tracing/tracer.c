/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing/tracer.h"

#include "base/core/clock.h"

#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

struct ab_tracer {
    ab_exporter *exporter;
    const ab_clock *clock;
    uint64_t one_in;
    uint64_t random;
};

ab_tracer *ab_tracer_new(ab_exporter *exporter, const ab_clock *clock, uint64_t one_in)
{
    ab_tracer *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return NULL;
    *t = (ab_tracer){.exporter = exporter, .clock = clock, .one_in = one_in};
    if (RAND_bytes((unsigned char *)&t->random, sizeof(t->random)) == 1)
        return t;
    free(t);
    return NULL;
}

void ab_tracer_free(ab_tracer *t)
{
    free(t);
}

/* SplitMix64: ids must differ, and need not be hard to guess. */
static uint64_t next_random(ab_tracer *t)
{
    uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* All zeros would mean that there is none. */
static void make_id(ab_tracer *t, uint8_t *out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = next_random(t) | 1;
        memcpy(out + i, &word, sizeof(word));
    }
}

bool ab_tracer_begin(ab_tracer *t, ab_trace_context *out)
{
    if (next_random(t) % t->one_in != 0)
        return false;
    out->sampled = true;
    make_id(t, out->trace, sizeof(out->trace));
    make_id(t, out->span, sizeof(out->span));
    return true;
}

ab_trace_span ab_tracer_below(ab_tracer *t, const ab_trace_context *parent, const char *name,
                              ab_trace_kind kind)
{
    ab_trace_span span = {.context = *parent,
                          .has_parent = true,
                          .kind = kind,
                          .name = name,
                          .start_us = ab_clock_wall_us(t->clock)};
    memcpy(span.parent, parent->span, sizeof(span.parent));
    make_id(t, span.context.span, sizeof(span.context.span));
    return span;
}

void ab_tracer_end(ab_tracer *t, ab_trace_span *span)
{
    if (span->end_us == 0)
        span->end_us = ab_clock_wall_us(t->clock);
    if (span->end_us < span->start_us) /* the clock was put back */
        span->end_us = span->start_us;
    ab_exporter_put(t->exporter, span);
}
