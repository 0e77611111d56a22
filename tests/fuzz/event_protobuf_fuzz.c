/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes; what decodes must come back the same from its own encoding.
 */
#include "tests/fuzz/event_same.h"
#include "tests/unit/event/formats.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_event *e, *back;
    ab_buf bytes;
    if (event_from_protobuf((ab_str){(const char *)data, size}, true, &e, NULL) != AB_ERR_OK)
        return 0;
    ab_buf_init(&bytes, AB_EVENT_DATA_MAX);
    if (event_to_protobuf(e, &bytes) != AB_ERR_OK ||
        event_from_protobuf(ab_buf_str(&bytes), false, &back, NULL) != AB_ERR_OK ||
        !event_same(e, back))
        abort();
    ab_event_unref(back);
    ab_event_unref(e);
    ab_buf_fini(&bytes);
    return 0;
}
