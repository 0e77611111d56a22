/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/steps.h"

#include <string.h>

#define LOOK_MS 5

bool ab_bench_steps_open(ab_bench_steps *s, const ab_bench_site *site)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/log", site->principal.folder);
    *s = (ab_bench_steps){.agents = site->agents};
    s->log = n > 0 && n < PATH_MAX ? fopen(path, "a+e") : NULL; /* it may be yet to come */
    return s->log != NULL && fseek(s->log, 0, SEEK_END) == 0;
}

void ab_bench_steps_close(ab_bench_steps *s)
{
    if (s->log != NULL)
        (void)fclose(s->log);
    s->log = NULL;
}

static void note(ab_bench_steps *s, const char *line)
{
    unsigned i = 0;
    const char *agent = strstr(line, " agent=w");
    if (strstr(line, "up to date with the agent") == NULL || agent == NULL ||
        sscanf(agent, " agent=w%u", &i) != 1 || i >= s->agents || s->in_step[i])
        return;
    s->in_step[i] = true;
    s->count++;
}

/* A line that is not whole yet is read again. */
static void take_in(ab_bench_steps *s)
{
    char line[1024];
    long at = ftell(s->log);
    while (fgets(line, sizeof(line), s->log) != NULL && strchr(line, '\n') != NULL) {
        note(s, line);
        at = ftell(s->log);
    }
    (void)fseek(s->log, at, SEEK_SET);
}

bool ab_bench_steps_wait(ab_bench_steps *s, int timeout_ms)
{
    int64_t end = ab_bench_now_ns() + timeout_ms * 1000000LL;
    take_in(s);
    while (s->count < s->agents && ab_bench_now_ns() < end) {
        ab_bench_pause(LOOK_MS);
        take_in(s);
    }
    if (s->count == s->agents)
        return true;
    fprintf(stderr, "argobus-bench: only %u of %u agents are in step\n", s->count, s->agents);
    return false;
}
