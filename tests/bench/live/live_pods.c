/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/live/live_pods.h"

#include <stdio.h>

#define WAIT_NS (60 * 1000000000LL)
#define LOOK_MS 200

/* @return bytes of the answer; -1: refused */
static int64_t call(const ab_bench_live_case *c, const char *method, const char *path,
                    const char *body)
{
    ab_bench_live_calls calls = {
        .at = &c->bare, .method = method, .path = path, .body = body, .count = 1, .at_once = 1};
    return ab_bench_live_run(&calls) ? (int64_t)calls.bytes : -1;
}

/* Again and again, for a minute, until something is answered. */
static bool call_until(const ab_bench_live_case *c, const char *method, const char *path,
                       const char *body)
{
    int64_t end = ab_bench_now_ns() + WAIT_NS;
    while (call(c, method, path, body) <= 0) {
        if (ab_bench_now_ns() > end)
            return false;
        ab_bench_pause(LOOK_MS);
    }
    return true;
}

bool ab_bench_live_pod_start(const ab_bench_live_case *c, const char *name, const char *script)
{
    char body[1024], log[256];
    int n = snprintf(body, sizeof(body),
                     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
                     "\"annotations\":{\"kubelet-dev/run\":\"%s\"}},\"spec\":{"
                     "\"terminationGracePeriodSeconds\":1,"
                     "\"containers\":[{\"name\":\"main\",\"image\":\"any\"}]}}",
                     name, script);
    (void)snprintf(log, sizeof(log), AB_BENCH_LIVE_SPACE "/pods/%s/log", name);
    return n > 0 && (size_t)n < sizeof(body) &&
           call_until(c, "POST", AB_BENCH_LIVE_SPACE "/pods", body) &&
           call_until(c, "GET", log, NULL);
}

bool ab_bench_live_pod_stop(const ab_bench_live_case *c, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof(path), AB_BENCH_LIVE_SPACE "/pods/%s", name);
    return call(c, "DELETE", path, NULL) >= 0;
}
