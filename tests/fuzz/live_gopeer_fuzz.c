/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the data of an argocd-agent's event of live access.
 */
#include "live/gopeer/wire.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_asked(ab_str text)
{
    ab_error err = {0};
    ab_gopeer_asked asked;
    ab_gopeer_redis_asked redis;
    ab_err e = ab_gopeer_wire_read_asked(text, &asked, &err);
    assert(e != AB_ERR_OK || (asked.target.len > 0 && asked.target.ptr[0] == '/'));
    ab_gopeer_wire_free_asked(&asked);
    e = ab_gopeer_wire_read_redis_asked(text, &redis, &err);
    assert(e != AB_ERR_OK || redis.what <= AB_GOPEER_REDIS_PING);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str text = size == 0 ? AB_STR("") : (ab_str){(const char *)data, size};
    ab_error err = {0};
    int status = 0;
    ab_buf resource;
    ab_buf_init(&resource, 1024u * 1024);
    ab_err e = ab_gopeer_wire_read_response(text, &status, &resource, &err);
    assert(e != AB_ERR_OK || (status >= 200 && status <= 599));
    ab_buf_clear(&resource);
    ab_gopeer_redis_response said;
    e = ab_gopeer_wire_read_redis(text, &said, &resource, &err);
    assert(e != AB_ERR_OK || said.what <= AB_GOPEER_REDIS_MESSAGE);
    ab_buf_fini(&resource);
    read_asked(text);
    return 0;
}
