/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/transport/inproc/inproc_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

ab_inproc_line *ab_inproc_line_new(const char *agent)
{
    ab_inproc_line *line = calloc(1, sizeof(*line));
    if (line == NULL)
        return NULL;
    size_t len = strlen(agent);
    assert(len < sizeof(line->agent));
    memcpy(line->agent, agent, len + 1);
    if (ab_inproc_log_init(&line->down) == AB_ERR_OK && ab_inproc_log_init(&line->up) == AB_ERR_OK)
        return line;
    ab_inproc_line_free(line);
    return NULL;
}

void ab_inproc_line_free(void *arg)
{
    ab_inproc_line *line = arg;
    if (line == NULL)
        return;
    ab_inproc_log_fini(&line->down);
    ab_inproc_log_fini(&line->up);
    free(line);
}

void ab_inproc_line_wake_endpoint(ab_inproc_endpoint *endpoint)
{
    if (endpoint->running)
        uv_async_send(&endpoint->wake);
}

void ab_inproc_line_wake(ab_inproc_line *line)
{
    for (size_t i = 0; i < 2; i++) {
        if (line->sides[i] != NULL)
            ab_inproc_line_wake_endpoint(line->sides[i]->endpoint);
    }
}
