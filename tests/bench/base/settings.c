/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/settings.h"

#include "transport/transport.h"

#include <stdarg.h>
#include <stdio.h>

#define TABLES 12

void ab_bench_set(ab_bench_settings *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(s->text[s->count++], sizeof(s->text[0]), fmt, args);
    va_end(args);
}

void ab_bench_set_grpc(ab_bench_settings *s, const char *certs, int port, const char *agent)
{
    ab_bench_set(s, "transport=grpc");
    ab_bench_set(s, "grpc.listen=127.0.0.1:%d", port);
    ab_bench_set(s, "grpc.address=localhost:%d", port);
    ab_bench_set(s, "grpc.tls.ca=%s/ca.crt", certs);
    ab_bench_set(s, "grpc.tls.cert=%s/%s.crt", certs, agent == NULL ? "server" : agent);
    ab_bench_set(s, "grpc.tls.key=%s/%s.key", certs, agent == NULL ? "server" : "agent");
}

ab_err ab_bench_settings_load(const ab_bench_settings *s, ab_config **out, ab_error *err)
{
    const char *set[AB_BENCH_SETTINGS_MAX];
    ab_options tables[TABLES];
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        set[i] = s->text[i];
    const ab_config_sources sources = {.set = set, .set_count = s->count};
    tables[count++] = ab_transport_options;
    for (size_t i = 0; ab_transport_table[i] != NULL; i++)
        for (size_t j = 0; ab_transport_table[i]->options[j] != NULL && count < TABLES; j++)
            tables[count++] = *ab_transport_table[i]->options[j];
    return ab_config_load(tables, count, &sources, out, err);
}
