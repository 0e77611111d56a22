# SPDX-License-Identifier: Apache-2.0
# One real broker for all tests that need one: started before the first of them, killed after the last. Its
# data are in the build folder. Tests keep apart by the prefix of their topics.
include_guard(GLOBAL)

set(AB_KAFKA_DEV ${CMAKE_CURRENT_LIST_DIR}/kafka-dev)
set(AB_KAFKA_ENV
    KAFKA_DEV=${AB_KAFKA_DEV}
    KAFKA_DEV_HOME=${PROJECT_BINARY_DIR}/kafka
    KAFKA_DEV_JAVA=-XX:TieredStopAtLevel=1 # half the work at a start
    "KAFKA_DEV_USERS=w1:w1-secret oslo:oslo-secret principal:principal-secret admin:admin-secret"
    CACHE INTERNAL "Environment of tests that need the broker")

add_test(NAME kafka_broker_start COMMAND ${AB_KAFKA_DEV} fresh)
add_test(NAME kafka_broker_stop COMMAND ${AB_KAFKA_DEV} kill)
set_tests_properties(kafka_broker_start PROPERTIES
    FIXTURES_SETUP kafka TIMEOUT 600
    ENVIRONMENT "${AB_KAFKA_ENV};KAFKA_DEV_PROPS=${CMAKE_CURRENT_LIST_DIR}/shared.properties")
set_tests_properties(kafka_broker_stop PROPERTIES
    FIXTURES_CLEANUP kafka ENVIRONMENT "${AB_KAFKA_ENV}")

# A librdkafka of today, for the tests that are repeated with it: Debian's is older than what many users have.
set(AB_KAFKA_NEWEST ${PROJECT_BINARY_DIR}/newest-librdkafka)
add_test(NAME kafka_newest_librdkafka
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/newest-librdkafka ${AB_KAFKA_NEWEST})
set_tests_properties(kafka_newest_librdkafka PROPERTIES FIXTURES_SETUP kafka_newest TIMEOUT 600)

ab_library(kafka_broker
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/broker.c
    DEPS PkgConfig::rdkafka PkgConfig::cmocka)

# ab_kafka_test(NAME LABEL ... SOURCES ... DEPS ...): as ab_test, with the broker running and its helpers.
function(ab_kafka_test name)
    ab_test(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE argobus::kafka_broker)
    # Under a minute when alone; sanitizers and other work on the machine make it many.
    set_tests_properties(${name} PROPERTIES
        FIXTURES_REQUIRED kafka ENVIRONMENT "${AB_KAFKA_ENV}" TIMEOUT 1500)
endfunction()

# ab_kafka_repeat(NAME...): these again, with a librdkafka of today. Not with sanitizers: what they look at is ours.
function(ab_kafka_repeat)
    if(AB_SANITIZE)
        return()
    endif()
    foreach(name ${ARGN})
        get_test_property(${name} LABELS label)
        add_test(NAME ${name}_newest COMMAND ${name})
        set_tests_properties(${name}_newest PROPERTIES
            LABELS ${label} TIMEOUT 1500
            FIXTURES_REQUIRED "kafka;kafka_newest" ENVIRONMENT "${AB_KAFKA_ENV};LD_LIBRARY_PATH=${AB_KAFKA_NEWEST}")
    endforeach()
endfunction()
