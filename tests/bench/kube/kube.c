/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/kube/kube.h"

bool ab_bench_kube(const ab_bench_options *o)
{
    bool ok = ab_bench_kube_create(o);
    ok = ab_bench_kube_status(o) && ok;
    ok = ab_bench_kube_change(o) && ok;
    ok = ab_bench_kube_catch_up(o) && ok;
    ok = ab_bench_kube_slow(o) && ok;
    ok = ab_bench_kube_memory(o) && ok;
    return ab_bench_kube_restart(o) && ok;
}
