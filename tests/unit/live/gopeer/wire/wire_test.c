/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_request(const char *method, const char *target, const char *body,
                           const char *expected)
{
    ab_resource_map map;
    ab_error err = {0};
    int status = 0;
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_err e = ab_resource_map_read(ab_str_of(method), ab_str_of(target), &map, &err);
    assert_int_equal(e, AB_ERR_OK);
    assert_int_equal(ab_gopeer_wire_check(&map, &status, &err), AB_ERR_OK);
    e = ab_gopeer_wire_put_request("u", ab_str_of(method), &map, ab_str_of(body), &out, &err);
    assert_int_equal(e, AB_ERR_OK);
    assert_string_equal(out.ptr, expected);
    ab_buf_fini(&out);
}

static void a_request_has_the_members_that_go_writes(void **state)
{
    (void)state;
    assert_request("GET", "/apis/apps/v1/namespaces/web/deployments/d/scale", "",
                   "{\"uuid\":\"u\",\"namespace\":\"web\",\"name\":\"d\",\"subresource\":\"scale\","
                   "\"group\":\"apps\",\"version\":\"v1\",\"resource\":\"deployments\","
                   "\"method\":\"GET\"}");
    assert_request("POST", "/api/v1/namespaces?dryRun=All&&dryRun=x&a=b%26+c&flag", "{}",
                   "{\"uuid\":\"u\",\"name\":\"\",\"group\":\"\",\"version\":\"v1\","
                   "\"resource\":\"namespaces\",\"method\":\"POST\",\"body\":\"e30=\","
                   "\"params\":{\"dryRun\":\"All\",\"a\":\"b& c\",\"flag\":\"\"}}");
    assert_request("GET", "/apis", "",
                   "{\"uuid\":\"u\",\"name\":\"\",\"group\":\"\",\"version\":\"\","
                   "\"resource\":\"\",\"method\":\"GET\"}");
}

static void of_the_paths_of_discovery_those_that_go_serves_are_asked_for(void **state)
{
    static const char *const others[] = {"/", "/version", "/healthz", "/apis/apps", "/openapi/v2"};
    (void)state;
    assert_request("GET", "/api/v1", "",
                   "{\"uuid\":\"u\",\"name\":\"\",\"group\":\"\",\"version\":\"v1\","
                   "\"resource\":\"\",\"method\":\"GET\"}");
    assert_request("GET", "/apis/apps/v1", "",
                   "{\"uuid\":\"u\",\"name\":\"\",\"group\":\"apps\",\"version\":\"v1\","
                   "\"resource\":\"\",\"method\":\"GET\"}");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ab_resource_map map;
        ab_error err = {0};
        int status = 0;
        ab_err e = ab_resource_map_read(AB_STR("GET"), ab_str_of(others[i]), &map, &err);
        assert_int_equal(e, AB_ERR_OK);
        assert_int_equal(ab_gopeer_wire_check(&map, &status, &err), AB_ERR_UNSUPPORTED);
        assert_int_equal(status, 501);
    }
}

static void a_query_of_too_many_parameters_is_refused(void **state)
{
    (void)state;
    ab_resource_map map;
    ab_error err = {0};
    ab_buf target, out;
    ab_buf_init(&target, 4096);
    ab_buf_init(&out, 4096);
    ab_buf_puts(&target, "/api/v1/events?");
    for (int i = 0; i < 65; i++)
        ab_buf_printf(&target, "a%d=1&", i);
    ab_err e = ab_resource_map_read(AB_STR("GET"), ab_buf_str(&target), &map, &err);
    assert_int_equal(e, AB_ERR_OK);
    e = ab_gopeer_wire_put_request("u", AB_STR("GET"), &map, AB_STR(""), &out, &err);
    assert_int_equal(e, AB_ERR_INVALID);
    ab_buf_fini(&target);
    ab_buf_fini(&out);
}

static ab_err read_response(const char *text, int *status, ab_buf *resource)
{
    ab_error err = {0};
    return ab_gopeer_wire_read_response(ab_str_of(text), status, resource, &err);
}

static void a_response_is_a_status_and_a_text(void **state)
{
    (void)state;
    int status = 0;
    ab_buf resource;
    ab_buf_init(&resource, 4096);
    ab_err e = read_response("{\"uuid\":\"u\",\"status\":200,\"resource\":\"{\\\"a\\\":1}\"}",
                             &status, &resource);
    assert_int_equal(e, AB_ERR_OK);
    assert_int_equal(status, 200);
    assert_string_equal(resource.ptr, "{\"a\":1}");
    ab_buf_clear(&resource);
    assert_int_equal(read_response("{\"status\":404}", &status, &resource), AB_ERR_OK);
    assert_int_equal(status, 404);
    assert_int_equal(resource.len, 0);
    ab_buf_fini(&resource);
}

static void another_document_is_no_response(void **state)
{
    static const char *const others[] = {"",
                                         "null",
                                         "[]",
                                         "{\"status\":\"200\"}",
                                         "{\"status\":100}",
                                         "{\"status\":600}",
                                         "{\"status\":200,\"resource\":{}}"};
    (void)state;
    int status = 0;
    ab_buf resource;
    ab_buf_init(&resource, 4096);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(read_response(others[i], &status, &resource), AB_ERR_PARSE);
    assert_int_equal(status, 0);
    ab_buf_fini(&resource);
}

static void a_redis_request_has_one_body(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_gopeer_wire_put_redis("u", "c", AB_GOPEER_REDIS_GET, AB_STR("app|k"), &out);
    assert_string_equal(
        out.ptr,
        "{\"uuid\":\"u\",\"connectionUuid\":\"c\",\"body\":{\"get\":{\"key\":\"app|k\"}}}");
    ab_buf_clear(&out);
    ab_gopeer_wire_put_redis("u", "c", AB_GOPEER_REDIS_PING, AB_STR_NONE, &out);
    assert_string_equal(out.ptr,
                        "{\"uuid\":\"u\",\"connectionUuid\":\"c\",\"body\":{\"ping\":{}}}");
    ab_buf_fini(&out);
}

static void a_redis_response_is_one_of_four(void **state)
{
    static const struct {
        const char *text;
        ab_err e;
        ab_gopeer_redis_what what;
    } rows[] = {
        {"{\"body\":{\"get\":{\"bytes\":\"AAE=\",\"cacheHit\":true,\"error\":\"\"}}}", AB_ERR_OK,
         AB_GOPEER_REDIS_GET},
        {"{\"body\":{\"get\":{\"bytes\":null,\"cacheHit\":false,\"error\":\"e\"}}}", AB_ERR_OK,
         AB_GOPEER_REDIS_GET},
        {"{\"body\":{\"subscribeResponse\":{\"error\":\"\"}}}", AB_ERR_OK,
         AB_GOPEER_REDIS_SUBSCRIBE},
        {"{\"body\":{\"pong\":{}}}", AB_ERR_OK, AB_GOPEER_REDIS_PING},
        {"{\"body\":{\"pushFromSubscribe\":{\"channelName\":\"c\"}}}", AB_ERR_OK,
         AB_GOPEER_REDIS_MESSAGE},
        {"{\"body\":{}}", AB_ERR_PARSE, AB_GOPEER_REDIS_GET},
        {"{\"body\":{\"get\":{\"bytes\":\"A\",\"cacheHit\":true}}}", AB_ERR_PARSE,
         AB_GOPEER_REDIS_GET},
        {"{\"body\":{\"get\":{\"bytes\":\"AAE=\"}}}", AB_ERR_PARSE, AB_GOPEER_REDIS_GET},
        {"{\"body\":{\"subscribeResponse\":{\"error\":1}}}", AB_ERR_PARSE,
         AB_GOPEER_REDIS_SUBSCRIBE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ab_gopeer_redis_response said;
        ab_error err = {0};
        ab_buf value;
        ab_buf_init(&value, 4096);
        assert_int_equal(ab_gopeer_wire_read_redis(ab_str_of(rows[i].text), &said, &value, &err),
                         rows[i].e);
        assert_int_equal(said.what, rows[i].what);
        assert_string_equal(said.error, i == 1 ? "e" : "");
        assert_int_equal(value.len, i == 0 ? 2 : 0);
        ab_buf_fini(&value);
    }
}

static ab_err read_asked(const char *text, ab_gopeer_asked *out)
{
    ab_error err = {0};
    return ab_gopeer_wire_read_asked(ab_str_of(text), out, &err);
}

static void a_resource_request_becomes_a_path(void **state)
{
    static const struct {
        const char *text, *target;
    } rows[] = {
        {"{\"method\":\"GET\",\"name\":\"d\",\"namespace\":\"web\",\"group\":\"apps\","
         "\"version\":\"v1\",\"resource\":\"deployments\",\"subresource\":\"scale\"}",
         "/apis/apps/v1/namespaces/web/deployments/d/scale"},
        {"{\"method\":\"GET\",\"name\":\"a/../b\",\"group\":\"\",\"version\":\"v1\","
         "\"resource\":\"pods\",\"params\":{\"a&b\":\"c d\",\"e\":\"\"}}",
         "/api/v1/pods/a%2F..%2Fb?a%26b=c%20d&e="},
        {"{\"method\":\"GET\",\"name\":\"\",\"group\":\"\",\"version\":\"\"}", "/apis"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ab_gopeer_asked asked;
        assert_int_equal(read_asked(rows[i].text, &asked), AB_ERR_OK);
        assert_string_equal(asked.target.ptr, rows[i].target);
        assert_string_equal(asked.method, "GET");
        assert_int_equal(asked.is_groups, i == 2);
        ab_gopeer_wire_free_asked(&asked);
    }
}

static void another_document_is_no_resource_request(void **state)
{
    static const char *const others[] = {"",
                                         "[]",
                                         "{\"method\":\"PUT\"}",
                                         "{\"method\":\"GET\",\"name\":1}",
                                         "{\"method\":\"POST\",\"body\":\"*\"}",
                                         "{\"method\":\"GET\",\"params\":[]}",
                                         "{\"method\":\"GET\",\"params\":{\"a\":1}}"};
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ab_gopeer_asked asked;
        assert_int_not_equal(read_asked(others[i], &asked), AB_ERR_OK);
        ab_gopeer_wire_free_asked(&asked);
    }
}

/* The last may say that it is a dry run. */
static void a_request_of_which_parameters_would_be_cut_is_refused(void **state)
{
    (void)state;
    ab_gopeer_asked asked;
    ab_error err = {0};
    ab_buf text;
    ab_buf_init(&text, 128 * 1024);
    ab_buf_puts(&text, "{\"method\":\"DELETE\",\"name\":\"a\",\"group\":\"\",\"version\":\"v1\","
                       "\"resource\":\"nodes\",\"params\":{");
    for (int i = 0; i < 5; i++)
        ab_buf_printf(&text, "\"p%d\":\"%015000d\",", i, 0);
    ab_buf_puts(&text, "\"dryRun\":\"All\"}}");
    assert_int_equal(ab_gopeer_wire_read_asked(ab_buf_str(&text), &asked, &err), AB_ERR_TOOBIG);
    ab_gopeer_wire_free_asked(&asked);
    ab_buf_fini(&text);
}

static void a_response_that_is_no_text_is_invalid(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_gopeer_wire_put_response("u", 200, AB_STR("{\"a\":1}"), &out);
    assert_string_equal(out.ptr, "{\"uuid\":\"u\",\"status\":200,\"resource\":\"{\\\"a\\\":1}\"}");
    ab_buf_clear(&out);
    ab_gopeer_wire_put_response("u", 200, AB_STR("\xff"), &out);
    assert_int_equal(ab_buf_status(&out), AB_ERR_INVALID);
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_has_the_members_that_go_writes),
        cmocka_unit_test(of_the_paths_of_discovery_those_that_go_serves_are_asked_for),
        cmocka_unit_test(a_query_of_too_many_parameters_is_refused),
        cmocka_unit_test(a_response_is_a_status_and_a_text),
        cmocka_unit_test(another_document_is_no_response),
        cmocka_unit_test(a_redis_request_has_one_body),
        cmocka_unit_test(a_redis_response_is_one_of_four),
        cmocka_unit_test(a_resource_request_becomes_a_path),
        cmocka_unit_test(another_document_is_no_resource_request),
        cmocka_unit_test(a_request_of_which_parameters_would_be_cut_is_refused),
        cmocka_unit_test(a_response_that_is_no_text_is_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
