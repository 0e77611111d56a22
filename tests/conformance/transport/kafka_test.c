/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/transport/kafka_fixture.h"
#include "tests/conformance/transport/suite.h"

int main(int argc, char **argv)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    return ab_suite_run(&kafka.base, argc > 1 ? argv[1] : NULL);
}
