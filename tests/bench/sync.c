/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/sync.h"
bool ab_bench_sync(const ab_bench_options *o)
{
    (void)o;
    return true;
}
bool ab_bench_idle(const ab_bench_options *o)
{
    (void)o;
    return true;
}
