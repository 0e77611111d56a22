/* SPDX-License-Identifier: Apache-2.0
 *
 * Any data as the hello of a peer, over either transport: it is refused with a reason, or every
 * number is within its bounds and every text ends.
 */
#include "transport/grpc/link/hello.h"

#include "schema/attributes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const ab_hello *hello)
{
    assert(hello->instance[0] != '\0');
    assert(memchr(hello->instance, '\0', sizeof(hello->instance)) != NULL);
    assert(memchr(hello->mode, '\0', sizeof(hello->mode)) != NULL);
    assert(memchr(hello->version, '\0', sizeof(hello->version)) != NULL);
    assert(hello->epoch <= INT64_MAX && hello->time_ms >= 0);
    assert(hello->time_ms <= INT64_MAX / 1000); /* an event's time is in microseconds */
    assert(strlen(hello->certificate) <= AB_HELLO_MAX);
}

static void read_any(const ab_event *event)
{
    cJSON *doc = NULL;
    ab_hello hello = {0};
    ab_error err = {0};
    ab_err e = ab_hello_parse(event, &doc, &err);
    if (e == AB_ERR_OK)
        e = ab_hello_read(doc, &hello, &err);
    if (e == AB_ERR_OK)
        check(&hello);
    else
        assert(err.text[0] != '\0');
    ab_hello_fini(&hello);
    cJSON_Delete(doc);
}

static void read_grpc(const ab_event *event)
{
    ab_grpc_hello hello;
    ab_error err = {0};
    if (ab_grpc_hello_read(event, &hello, &err) == AB_ERR_OK) {
        check(&hello.base);
        assert(hello.inflight > 0 && hello.inflight <= 65536);
        assert(hello.message_max > 0 && hello.backlog >= 0);
    } else {
        assert(err.text[0] != '\0');
    }
    ab_grpc_hello_fini(&hello);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_event_draft draft = {.data = {size == 0 ? NULL : (const char *)data, size}};
    ab_event *event = NULL;
    ab_event_set_text(&draft, AB_CE_ID, "1");
    ab_event_set_text(&draft, AB_CE_SOURCE, "west");
    ab_event_set_text(&draft, AB_CE_TYPE, "ping");
    ab_err made = ab_event_new(&draft, &event, NULL);
    assert(made == AB_ERR_OK);
    read_any(event);
    read_grpc(event);
    ab_event_unref(event);
    return 0;
}
