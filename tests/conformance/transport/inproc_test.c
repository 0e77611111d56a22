/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/transport/suite.h"

#include "tests/conformance/transport/inproc/inproc.h"

#include <assert.h>

static void open_switch(ab_ends *ends)
{
    ends->state = ab_inproc_new();
    assert(ends->state != NULL);
}

static void close_switch(ab_ends *ends)
{
    ab_inproc_free(ends->state);
}

static const ab_transport_ops *ops(ab_ends *ends)
{
    return ab_inproc_transport(ends->state);
}

int main(int argc, char **argv)
{
    const ab_ends_fixture inproc = {
        .name = "inproc",
        .event_max = AB_INPROC_EVENT_MAX,
        .tables = &ab_transport_options,
        .table_count = 1,
        .open = open_switch,
        .close = close_switch,
        .ops = ops,
    };
    return ab_suite_run(&inproc, argc > 1 ? argv[1] : NULL);
}
