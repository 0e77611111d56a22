/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/codec/upgrade.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* The example of RFC 6455, section 1.3. */
#define KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

#define LINE     "GET /test.Echo/Echo HTTP/1.1\r\n"
#define HOST     "Host: p.example.com:8443\r\n"
#define UPGRADE  "Connection: Upgrade\r\nUpgrade: websocket\r\n"
#define VERSION  "Sec-WebSocket-Version: 13\r\n"
#define PROTOCOL "Sec-WebSocket-Protocol: grpc-ws\r\n"
#define KEY_LINE "Sec-WebSocket-Key: " KEY "\r\n"
#define TYPE     "Content-Type: application/grpc\r\n"
#define GOOD     LINE HOST UPGRADE VERSION PROTOCOL KEY_LINE TYPE "Authorization:  a b \r\n\r\n"

static ab_rpc_upgrade_refusal read_request(const char *text, ab_rpc_head_in **head, char *accept)
{
    *head = ab_rpc_head_in_new(1000);
    assert_non_null(*head);
    return ab_rpc_upgrade_read_request(ab_str_of(text), *head, accept);
}

static void a_request_is_read_as_the_headers_of_a_call(void **state)
{
    (void)state;
    char accept[AB_WEBSOCKET_ACCEPT];
    ab_rpc_head_in *head;
    ab_rpc_field fields[AB_RPC_HEAD_FIELDS];
    ab_rpc_upgrade_refusal r = read_request(GOOD, &head, accept);
    assert_null(r.status);
    assert_string_equal(accept, ACCEPT);
    assert_true(ab_str_is(ab_rpc_head_in_find(head, ":method"), "POST"));
    assert_true(ab_str_is(ab_rpc_head_in_find(head, ":path"), "/test.Echo/Echo"));
    assert_true(ab_str_is(ab_rpc_head_in_find(head, "content-type"), "application/grpc"));
    /* What belongs to HTTP is no metadata. */
    assert_int_equal(ab_rpc_head_in_metadata(head, fields), 1);
    assert_true(ab_str_is(fields[0].name, "authorization"));
    assert_true(ab_str_is(fields[0].value, "a b"));
    ab_rpc_head_in_free(head);
}

static void names_and_lists_are_read_in_any_case(void **state)
{
    (void)state;
    char accept[AB_WEBSOCKET_ACCEPT];
    ab_rpc_head_in *head;
    ab_rpc_upgrade_refusal r =
        read_request(LINE "CONNECTION: keep-alive, upgrade\r\nupgrade: WebSocket\r\n" VERSION
                          "sec-websocket-protocol: other, grpc-ws\r\n" KEY_LINE TYPE "\r\n",
                     &head, accept);
    assert_null(r.status);
    ab_rpc_head_in_free(head);
}

static void expect_refusal(const char *text, const char *status)
{
    char accept[AB_WEBSOCKET_ACCEPT];
    ab_rpc_head_in *head;
    ab_buf out;
    ab_rpc_upgrade_refusal r = read_request(text, &head, accept);
    assert_non_null(r.status);
    assert_memory_equal(r.status, status, 3);
    ab_buf_init(&out, 1000);
    ab_rpc_upgrade_put_refusal(&out, &r);
    assert_int_equal(ab_buf_status(&out), AB_ERR_OK);
    assert_non_null(strstr(out.ptr, r.why));
    ab_buf_fini(&out);
    ab_rpc_head_in_free(head);
}

static void a_request_that_is_no_good_is_told_why(void **state)
{
    (void)state;
    expect_refusal("GET / HTTP/1.1\r\n\r\n", "426");
    expect_refusal("POST /x HTTP/1.1\r\n\r\n", "405");
    expect_refusal("GET /x HTTP/1.0\r\n\r\n", "400");
    expect_refusal("GET http://a/x HTTP/1.1\r\n\r\n", "400");
    expect_refusal("GET /a b HTTP/1.1\r\n\r\n", "400");
    expect_refusal("\r\n\r\n", "400");
    expect_refusal(LINE "no header\r\n\r\n", "400");
    expect_refusal(LINE ": none\r\n\r\n", "400");
    expect_refusal(LINE "a b: c\r\n\r\n", "400");
    expect_refusal(LINE "x: \xff\r\n\r\n", "400");
    expect_refusal(LINE VERSION PROTOCOL KEY_LINE TYPE "\r\n", "426");
    expect_refusal(LINE UPGRADE PROTOCOL KEY_LINE TYPE "\r\n", "426");
    expect_refusal(LINE UPGRADE VERSION KEY_LINE TYPE "\r\n", "400");
    expect_refusal(LINE UPGRADE VERSION PROTOCOL TYPE "\r\n", "400");
    expect_refusal(LINE UPGRADE VERSION PROTOCOL "Sec-WebSocket-Key: dGhl\r\n" TYPE "\r\n", "400");
    expect_refusal(LINE UPGRADE VERSION PROTOCOL KEY_LINE "\r\n", "415");
}

static void headers_past_the_limit_are_refused(void **state)
{
    (void)state;
    char text[2000] = LINE UPGRADE VERSION PROTOCOL KEY_LINE TYPE "x: ";
    size_t len = strlen(text);
    memset(text + len, 'x', 1000);
    memcpy(text + len + 1000, "\r\n\r\n", 5);
    expect_refusal(text, "431");
}

static void a_head_ends_with_an_empty_line(void **state)
{
    (void)state;
    assert_int_equal(ab_rpc_upgrade_head_len(AB_STR("")), 0);
    assert_int_equal(ab_rpc_upgrade_head_len(AB_STR("GET / HTTP/1.1\r\nx: y\r\n")), 0);
    assert_int_equal(ab_rpc_upgrade_head_len(AB_STR("GET / HTTP/1.1\r\n\r\nmore")), 18);
}

static void the_answer_proves_that_the_key_was_read(void **state)
{
    (void)state;
    ab_str status;
    ab_buf out;
    ab_buf_init(&out, 1000);
    ab_rpc_upgrade_put_answer(&out, ACCEPT);
    ab_str answer = ab_buf_str(&out);
    assert_null(ab_rpc_upgrade_read_answer(answer, KEY, 1000, &status));
    assert_true(ab_str_is(status, "101"));
    assert_non_null(ab_rpc_upgrade_read_answer(answer, "eGhlIHNhbXBsZSBub25jZQ==", 1000, &status));
    ab_buf_fini(&out);
}

static void expect_no_websocket(const char *answer, const char *http, const char *why)
{
    ab_str status;
    const char *told = ab_rpc_upgrade_read_answer(ab_str_of(answer), KEY, 1000, &status);
    assert_non_null(told);
    assert_non_null(strstr(told, why));
    if (http == NULL)
        assert_null(status.ptr);
    else
        assert_true(ab_str_is(status, http));
}

#define ANSWER "HTTP/1.1 101 Switching Protocols\r\n"

static void an_answer_that_is_no_good_is_told_why(void **state)
{
    (void)state;
    expect_no_websocket("SSH-2.0\r\n\r\n", NULL, "HTTP/1.1");
    expect_no_websocket("HTTP/1.1 403 Forbidden\r\n\r\n", "403", "does not accept WebSockets");
    expect_no_websocket(ANSWER "\r\n", "101", "does not upgrade");
    expect_no_websocket(ANSWER UPGRADE "\r\n", "101", "Sec-WebSocket-Accept");
    expect_no_websocket(ANSWER UPGRADE "Sec-WebSocket-Accept: " ACCEPT
                                       "\r\nSec-WebSocket-Protocol: chat\r\n\r\n",
                        "101", "sub-protocol");
    expect_no_websocket(ANSWER UPGRADE "Sec-WebSocket-Accept: " ACCEPT
                                       "\r\nSec-WebSocket-Extensions: x\r\n\r\n",
                        "101", "extensions");
}

/* Go's server chooses no sub-protocol unless it is told to. */
static void an_answer_may_name_no_sub_protocol(void **state)
{
    (void)state;
    ab_str status;
    assert_null(ab_rpc_upgrade_read_answer(
        AB_STR(ANSWER UPGRADE "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n"), KEY, 1000, &status));
}

static void what_is_asked_can_be_read(void **state)
{
    (void)state;
    char key[AB_WEBSOCKET_KEY];
    char accept[AB_WEBSOCKET_ACCEPT];
    const ab_rpc_field metadata[] = {{AB_STR("authorization"), AB_STR("token")}};
    ab_rpc_head_out head;
    ab_rpc_head_in *in;
    ab_buf out;
    ab_buf_init(&out, 1000);
    ab_rpc_head_out_init(&head);
    ab_rpc_head_out_add(&head, ":method", AB_STR("POST"));
    ab_rpc_head_out_add(&head, ":path", AB_STR("/a.B/C"));
    ab_rpc_head_out_add(&head, ":authority", AB_STR("p:1"));
    ab_rpc_head_out_add(&head, "content-type", AB_STR("application/grpc"));
    ab_rpc_head_out_add_metadata(&head, metadata, 1);
    assert_int_equal(ab_rpc_head_out_seal(&head), AB_ERR_OK);
    assert_true(ab_websocket_key_make(key));
    ab_rpc_upgrade_put_request(&out, &head, key);
    assert_non_null(strstr(out.ptr, "\r\nContent-Type: application/grpc\r\n"));
    assert_null(read_request(out.ptr, &in, accept).status);
    assert_true(ab_str_is(ab_rpc_head_in_find(in, ":path"), "/a.B/C"));
    assert_true(ab_str_is(ab_rpc_head_in_find(in, "host"), "p:1"));
    assert_true(ab_str_is(ab_rpc_head_in_find(in, "authorization"), "token"));
    ab_rpc_head_in_free(in);
    ab_rpc_head_out_fini(&head);
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_read_as_the_headers_of_a_call),
        cmocka_unit_test(names_and_lists_are_read_in_any_case),
        cmocka_unit_test(a_request_that_is_no_good_is_told_why),
        cmocka_unit_test(headers_past_the_limit_are_refused),
        cmocka_unit_test(a_head_ends_with_an_empty_line),
        cmocka_unit_test(the_answer_proves_that_the_key_was_read),
        cmocka_unit_test(an_answer_that_is_no_good_is_told_why),
        cmocka_unit_test(an_answer_may_name_no_sub_protocol),
        cmocka_unit_test(what_is_asked_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
