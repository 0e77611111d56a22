/* SPDX-License-Identifier: Apache-2.0
 *
 * A hub and the agent "w1" on one loop, joined by a transport that hands events over in a later
 * turn. What fails here fails the test.
 */
#pragma once

#include "live/lane/hub.h"
#include "live/lane/spoke.h"
#include "tests/unit/live/post.h"

typedef struct joined {
    uv_loop_t loop;
    ab_clock clock;
    int64_t ahead_ms; /* of the machine's clock */
    ab_metrics *metrics;
    ab_live_hub *hub;
    ab_live_spoke *spoke;
    post post;
    /** What is between the ends, when it would be delivered; NULL: all of it is.
     * @param up  to the principal; event: borrowed. @return it is not delivered */
    bool (*take)(void *arg, bool up, ab_event *event);
    void *take_arg;
} joined;

/** @param services  as of ab_live_spoke_new */
void joined_open(joined *j, const ab_live_service *services);
/** When all that uses them is freed; the loop runs until its handles have closed. @return 0 */
int joined_close(joined *j);
/** Turn the loop once, and deliver what is between the ends. */
void joined_turn(joined *j);
/** The machine's clock, for bounds. */
int64_t joined_now_ms(void);
#define JOINED_WAIT(j, condition)                                                                  \
    do {                                                                                           \
        int64_t until_ = joined_now_ms() + 60000;                                                  \
        while (!(condition) && joined_now_ms() < until_)                                           \
            joined_turn(j);                                                                        \
        assert_true(condition);                                                                    \
    } while (0)
