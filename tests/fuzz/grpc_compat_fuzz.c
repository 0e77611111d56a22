/* SPDX-License-Identifier: Apache-2.0
 *
 * What an argocd-agent sends, at either end of argobus: whatever it is, what it makes of it passes
 * on and is acknowledged. The first byte says whose end; what follows is one message, twice.
 */
#include "tests/unit/transport/grpc/compat/compat_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(world *w, ab_str message)
{
    if (w->told_count > WORLD_MAX / 2)
        world_forget(w);
    ab_compat_receive(w->compat, w, message);
    world_run(w);
    for (size_t i = 0; i < w->got_count; i++)
        if (w->got[i] != NULL)
            world_ack(w, i);
    w->got_count = 0;
    world_wait(w, 60000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    world *w = world_new((data[0] & 1) != 0 ? AB_ROLE_PRINCIPAL : AB_ROLE_AGENT,
                         (data[0] & 2) != 0 ? "autonomous" : "managed");
    w->env.by_destination = (data[0] & 4) != 0;
    ab_str message = {(const char *)data + 1, size - 1};
    hear(w, message);
    hear(w, message);
    world_free(w);
    return 0;
}
