/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages against bytes as argocd-agent sends them.
 */
#include "transport/grpc/wire.h"

#include "schema/proto/argocd_agent.pb-c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Where what is read lies. */
static ab_pb_arena arena;

static int close_arena(void **state)
{
    (void)state;
    ab_pb_arena_fini(&arena);
    return 0;
}

static ab_err read_login(ab_str bytes, ab_grpc_login *out)
{
    ab_pb_arena_fini(&arena);
    return ab_grpc_read_login(bytes, &arena, out);
}

/* AuthRequest: mtls, managed, 0.8.1, argocd, as deterministic Go marshalling has it. */
static const char golden_login[] = "\x0a\x04mtls"
                                   "\x12\x0e\n\x08"
                                   "clientid\x12\x02w1"
                                   "\x1a\x07managed"
                                   "\x22\x05"
                                   "0.8.1"
                                   "\x2a\x06"
                                   "argocd";

static void assert_bytes(const ab_buf *got, ab_str want)
{
    assert_int_equal(ab_buf_status(got), AB_ERR_OK);
    assert_int_equal(got->len, want.len);
    assert_memory_equal(got->ptr, want.ptr, want.len);
}

static void assert_text(ab_str got, const char *want)
{
    if (!ab_str_is(got, want))
        fail_msg("\"%.*s\" is not \"%s\"", AB_STR_ARG(got), want);
}

static void a_login_is_the_bytes_of_argocd_agent(void **state)
{
    (void)state;
    const ab_grpc_login login = {
        .method = AB_STR("mtls"),
        .mode = AB_STR("managed"),
        .version = AB_STR("0.8.1"),
        .namespace = AB_STR("argocd"),
        .credentials = {{AB_STR("clientid"), AB_STR("w1")}},
        .credential_count = 1,
    };
    ab_buf out;
    ab_buf_init(&out, 1024);
    ab_grpc_write_login(&login, &out);
    assert_bytes(&out, AB_STR(golden_login));
    ab_buf_fini(&out);
}

static void a_login_is_read(void **state)
{
    (void)state;
    ab_grpc_login login;
    assert_int_equal(read_login(AB_STR(golden_login), &login), AB_ERR_OK);
    assert_text(login.method, "mtls");
    assert_text(login.mode, "managed");
    assert_text(login.version, "0.8.1");
    assert_text(login.namespace, "argocd");
    assert_int_equal(login.credential_count, 1);
    assert_text(login.credentials[0].name, "clientid");
    assert_text(login.credentials[0].value, "w1");
}

static void unknown_fields_are_passed_over(void **state)
{
    (void)state;
    /* Field 9 as each wire type, then method. */
    ab_grpc_login login;
    const ab_str bytes = AB_STR("\x48\x96\x01"
                                "\x49"
                                "12345678"
                                "\x4a\x03xyz"
                                "\x4d"
                                "1234"
                                "\x0a\x04mtls");
    assert_int_equal(read_login(bytes, &login), AB_ERR_OK);
    assert_text(login.method, "mtls");
    assert_text(login.mode, "");
}

static void what_is_cut_short_is_refused(void **state)
{
    (void)state;
    for (size_t len = 1; len < sizeof(golden_login) - 1; len++) {
        ab_grpc_login login;
        /* Cuts between two fields leave a whole message. */
        bool whole = len == 6 || len == 22 || len == 31 || len == 38;
        assert_int_equal(read_login((ab_str){golden_login, len}, &login),
                         whole ? AB_ERR_OK : AB_ERR_PARSE);
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    const ab_str bad[] = {
        AB_STR("\x0b"),                                             /* a group */
        AB_STR("\x08\x05"),                                         /* a text that is a number */
        AB_STR("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),     /* longer than all memory */
        AB_STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), /* a number without end */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ab_str text;
        assert_int_equal(ab_grpc_read_refresh(bad[i], &arena, &text), AB_ERR_PARSE);
        ab_pb_arena_fini(&arena);
    }
}

static void too_many_credentials_are_refused(void **state)
{
    (void)state;
    char bytes[2 * (AB_GRPC_CREDENTIALS_MAX + 1)];
    for (size_t i = 0; i < sizeof(bytes); i += 2)
        memcpy(bytes + i, "\x12\x00", 2);
    ab_grpc_login login;
    assert_int_equal(read_login((ab_str){bytes, sizeof(bytes)}, &login), AB_ERR_TOOBIG);
    assert_int_equal(read_login((ab_str){bytes, sizeof(bytes) - 2}, &login), AB_ERR_OK);
}

static void a_refresh_is_read_as_it_was_written(void **state)
{
    (void)state;
    ab_str token;
    ab_buf out;
    ab_buf_init(&out, 64);
    ab_grpc_write_refresh(AB_STR("refresh"), &out);
    assert_int_equal(ab_grpc_read_refresh(ab_buf_str(&out), &arena, &token), AB_ERR_OK);
    assert_text(token, "refresh");
    ab_buf_fini(&out);
}

static void a_grant_agrees_with_generated_code(void **state)
{
    (void)state;
    ab_grpc_grant grant = {AB_STR("access"), AB_STR("refresh"), AB_STR("1.0"), AB_STR("argocd")};
    ab_buf out;
    ab_buf_init(&out, 1024);
    ab_grpc_write_grant(&grant, &out);
    Argocdagent__AuthResponse *made =
        argocdagent__auth_response__unpack(NULL, out.len, (const uint8_t *)out.ptr);
    assert_non_null(made);
    assert_memory_equal(made->access_token.data, "access", 6);
    assert_memory_equal(made->refresh_token.data, "refresh", 7);
    assert_memory_equal(made->version.data, "1.0", 3);
    assert_memory_equal(made->principal_namespace.data, "argocd", 6);
    argocdagent__auth_response__free_unpacked(made, NULL);
    ab_grpc_grant back;
    assert_int_equal(ab_grpc_read_grant(ab_buf_str(&out), &arena, &back), AB_ERR_OK);
    assert_text(back.access, "access");
    assert_text(back.refresh, "refresh");
    assert_text(back.version, "1.0");
    assert_text(back.namespace, "argocd");
    ab_buf_fini(&out);
}

static ab_event *make_event(size_t len)
{
    ab_event *event = NULL;
    char *data = calloc(1, len);
    assert_non_null(data);
    ab_event_draft d = {.data = {data, len}};
    ab_event_set_text(&d, "id", "i");
    ab_event_set_text(&d, "source", "s");
    ab_event_set_text(&d, "type", "t");
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    free(data);
    return event;
}

static void an_event_of_any_length_survives(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 127, 128, 16383, 16384, 3000000};
    ab_buf out;
    ab_buf_init(&out, 3000000 + 64);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ab_event *event = make_event(sizes[i]);
        ab_str head;
        ab_event *back = NULL;
        assert_int_equal(ab_grpc_write_event(event, &out, &head), AB_ERR_OK);
        size_t skipped = (size_t)(head.ptr - out.ptr);
        ab_buf_put(&out, ab_event_data(event));
        const ab_str message = {out.ptr + skipped, out.len - skipped};
        assert_int_equal(ab_grpc_read_event(message, &back, NULL), AB_ERR_OK);
        assert_int_equal(ab_event_data(back).len, sizes[i]);
        assert_true(ab_str_eq(ab_event_data(back), ab_event_data(event)));
        ab_event_unref(back);
        ab_event_unref(event);
    }
    ab_buf_fini(&out);
}

static void an_event_that_does_not_fit_is_reported(void **state)
{
    (void)state;
    ab_event *event = make_event(1);
    ab_str head;
    ab_buf out;
    ab_buf_init(&out, 10);
    assert_int_equal(ab_grpc_write_event(event, &out, &head), AB_ERR_TOOBIG);
    ab_buf_fini(&out);
    ab_event_unref(event);
}

static void empty_texts_are_left_out(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 64);
    ab_grpc_write_version(AB_STR(""), &out);
    assert_int_equal(out.len, 0);
    ab_buf_fini(&out);
}

static void acknowledgements_survive(void **state)
{
    (void)state;
    const uint64_t versions[] = {1, 2, UINT64_MAX};
    const ab_grpc_acks acks = {1767225600, versions, 3};
    ab_grpc_acks back;
    ab_buf out;
    ab_buf_init(&out, 64);
    ab_grpc_write_acks(&acks, &out);
    /* One field after the other, as every release has it. */
    assert_memory_equal(out.ptr, "\x08\x80\xf2\xd6\xca\x06\x10\x01\x10\x02\x10", 11);
    assert_int_equal(ab_grpc_read_acks(ab_buf_str(&out), &arena, &back), AB_ERR_OK);
    assert_int_equal(back.epoch, acks.epoch);
    assert_int_equal(back.count, 3);
    assert_memory_equal(back.versions, versions, sizeof(versions));
    ab_buf_fini(&out);
}

static void a_message_without_event_is_refused(void **state)
{
    (void)state;
    ab_event *event = NULL;
    assert_int_equal(ab_grpc_read_event(AB_STR(""), &event, NULL), AB_ERR_PARSE);
    assert_int_equal(ab_grpc_read_event(AB_STR("\x12\x01x"), &event, NULL), AB_ERR_PARSE);
    assert_null(event);
}

static void assert_summary(uint32_t received, int32_t expected)
{
    ab_buf out;
    ab_buf_init(&out, 64);
    ab_grpc_write_push_summary(received, &out);
    Argocdagent__PushSummary *summary =
        argocdagent__push_summary__unpack(NULL, out.len, (const uint8_t *)out.ptr);
    assert_non_null(summary);
    assert_int_equal(summary->received, expected);
    argocdagent__push_summary__free_unpacked(summary, NULL);
    ab_buf_fini(&out);
}

static void a_summary_agrees_with_generated_code(void **state)
{
    (void)state;
    assert_summary(0, 0);
    assert_summary(300, 300);
    assert_summary(UINT32_MAX, INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_login_is_the_bytes_of_argocd_agent, close_arena),
        cmocka_unit_test_teardown(a_login_is_read, close_arena),
        cmocka_unit_test_teardown(unknown_fields_are_passed_over, close_arena),
        cmocka_unit_test_teardown(what_is_cut_short_is_refused, close_arena),
        cmocka_unit_test_teardown(nonsense_is_refused, close_arena),
        cmocka_unit_test_teardown(too_many_credentials_are_refused, close_arena),
        cmocka_unit_test_teardown(a_refresh_is_read_as_it_was_written, close_arena),
        cmocka_unit_test_teardown(a_grant_agrees_with_generated_code, close_arena),
        cmocka_unit_test_teardown(an_event_of_any_length_survives, close_arena),
        cmocka_unit_test_teardown(an_event_that_does_not_fit_is_reported, close_arena),
        cmocka_unit_test_teardown(empty_texts_are_left_out, close_arena),
        cmocka_unit_test_teardown(acknowledgements_survive, close_arena),
        cmocka_unit_test_teardown(a_message_without_event_is_refused, close_arena),
        cmocka_unit_test_teardown(a_summary_agrees_with_generated_code, close_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
