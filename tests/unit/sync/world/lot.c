/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/lot.h"

#include <stdbool.h>
#include <stdlib.h>

size_t lot_draw(uint64_t *random, size_t below)
{
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(*random >> 33) % below;
}

int64_t lot_delay(ab_backoff *b, uint64_t random)
{
    int64_t delay = b->next_ms;
    b->next_ms = 2 * delay < b->max_ms ? 2 * delay : b->max_ms;
    return delay - (int64_t)(random % (uint64_t)(delay / 2 + 1));
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

void lot_each_seed(uint64_t seeds, void (*run)(uint64_t seed))
{
    bool all = getenv("SYNC_MODEL_SEED") == NULL;
    uint64_t first = setting("SYNC_MODEL_SEED", 1);
    uint64_t count = setting("SYNC_MODEL_SEEDS", all ? seeds : 1);
    for (uint64_t seed = first; seed < first + count; seed++)
        run(seed);
}
