/* SPDX-License-Identifier: Apache-2.0
 *
 * Any record; what decodes must come back the same from its own encoding. Inputs are as in
 * record_text.h.
 */
#include "event/codec_kafka.h"
#include "schema/attributes.h"
#include "tests/fuzz/event_same.h"
#include "tests/unit/event/record_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Such data cannot travel in binary mode: its content type would be taken for the record's. */
static bool is_event_itself(const ab_event *e)
{
    static const char prefix[] = "application/cloudevents";
    ab_str type = ab_event_attr(e, AB_CE_DATACONTENTTYPE);
    return type.len >= strlen(prefix) && strncasecmp(type.ptr, prefix, strlen(prefix)) == 0;
}

/** The reader finds these in the key, in the id and in the time, where a structured event may lack
 * them. */
static bool lacks_what_it_implies(const ab_event *e)
{
    ab_str id = ab_event_attr(e, AB_CE_ID);
    return ((ab_event_attr(e, AB_CE_SUBJECT).len == 0 ||
             ab_event_attr(e, AB_CE_DATASCHEMA).len == 0) &&
            ab_event_attr(e, AB_CE_PARTITIONKEY).len > 0) ||
           (ab_event_attr(e, AB_CE_OBJVERSION).len == 0 && memchr(id.ptr, '.', id.len) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_record r;
    ab_event *e, *back;
    record_from_text((ab_str){(const char *)data, size}, &r);
    if (ab_kafka_decode(&r, &e, NULL) != AB_ERR_OK)
        return 0;
    if (!is_event_itself(e) && !lacks_what_it_implies(e)) {
        ab_kafka_encode(e, &r);
        if (ab_kafka_decode(&r, &back, NULL) != AB_ERR_OK || !event_same(e, back))
            abort();
        ab_event_unref(back);
    }
    ab_event_unref(e);
    return 0;
}
