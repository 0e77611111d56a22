/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/threads.h"

#include <sys/prctl.h>

#define SLACK_NS 1000000L

/* The kernel does not refuse it; if it did, the threads would only cost more. */
static void set_slack(long ns)
{
    (void)prctl(PR_SET_TIMERSLACK, (unsigned long)ns, 0UL, 0UL, 0UL);
}

rd_kafka_t *ab_kafka_threads_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *why,
                                 size_t why_size)
{
    long ours = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
    set_slack(SLACK_NS);
    rd_kafka_t *rk = rd_kafka_new(type, conf, why, why_size);
    set_slack(ours);
    return rk;
}
