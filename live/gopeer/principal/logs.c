/* SPDX-License-Identifier: Apache-2.0
 *
 * A log that argocd-agent's principal has asked for: what the spoke answers, in messages of data.
 */
#include "live/gopeer/principal/principal_priv.h"
#include "live/resource/service.h"

#include <stdlib.h>

static void on_data(ab_gopeer_reply *r, ab_str bytes)
{
    ab_gopeer_reply_put(r, (ab_gopeer_side_message){.data = bytes});
    ab_gopeer_reply_flush(r);
}

static void free_reply(ab_gopeer_reply *r)
{
    ab_gopeer_reply_fini(r);
    free(r);
}

static const ab_gopeer_reply_use use = {
    .kind = AB_SIDE_LOGS, .on_data = on_data, .free = free_reply};

static void ask(ab_gopeer_reply *r, ab_str data)
{
    ab_error err = {0};
    ab_buf target;
    ab_buf_init(&target, AB_RESOURCE_TARGET_MAX);
    ab_err e = ab_gopeer_wire_read_logs(data, &target, &err);
    if (e == AB_ERR_OK)
        (void)ab_gopeer_reply_ask(r, &(ab_live_request){.service = AB_STR(AB_RESOURCE_SERVICE),
                                                        .method = AB_STR("GET"),
                                                        .path = ab_buf_str(&target)});
    else
        ab_gopeer_reply_end(r, ab_str_of(err.text));
    ab_buf_fini(&target);
}

void ab_gopeer_principal_take_logs(ab_gopeer_principal *p, const char *id, ab_str data)
{
    ab_gopeer_reply *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return; /* whoever asks has a deadline */
    if (ab_gopeer_reply_init(r, &use, p, id) == AB_ERR_OK)
        ask(r, data);
    else
        free_reply(r);
}
