/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text; what decodes must come back the same from its own encoding.
 */
#include "tests/fuzz/event_same.h"
#include "tests/unit/event/formats.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_event *e, *back;
    ab_buf text;
    if (ab_event_from_json((ab_str){(const char *)data, size}, AB_STR_NONE, &e, NULL) != AB_ERR_OK)
        return 0;
    ab_buf_init(&text, AB_EVENT_DATA_MAX);
    if (event_to_json(e, &text) != AB_ERR_OK ||
        ab_event_from_json(ab_buf_str(&text), AB_STR_NONE, &back, NULL) != AB_ERR_OK ||
        !event_same(e, back))
        abort();
    ab_event_unref(back);
    ab_event_unref(e);
    ab_buf_fini(&text);
    return 0;
}
