/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/threads.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>

#define SLACK_NS 1000000L

static _Thread_local bool gives_way;

/* The kernel does not refuse it; if it did, the threads would only cost more. */
static void set_slack(long ns)
{
    (void)prctl(PR_SET_TIMERSLACK, (unsigned long)ns, 0UL, 0UL, 0UL);
}

/* Not refused either; without it there are more switches of threads. */
static void set_policy(int policy)
{
    const struct sched_param none = {0};
    (void)sched_setscheduler(0, policy, &none);
}

void ab_kafka_threads_give_way(void)
{
    gives_way = gives_way || sched_getscheduler(0) == SCHED_OTHER;
    if (gives_way)
        set_policy(SCHED_BATCH);
}

rd_kafka_t *ab_kafka_threads_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *why,
                                 size_t why_size)
{
    long ours = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
    set_slack(SLACK_NS);
    if (gives_way)
        set_policy(SCHED_OTHER);
    rd_kafka_t *rk = rd_kafka_new(type, conf, why, why_size);
    if (gives_way)
        set_policy(SCHED_BATCH);
    set_slack(ours);
    return rk;
}
