/* SPDX-License-Identifier: Apache-2.0 */
#include "base/protobuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_varint_has_the_bytes_that_its_size_says(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        ab_str bytes;
    } cases[] = {
        {0, {"\x00", 1}},
        {127, {"\x7f", 1}},
        {128, {"\x80\x01", 2}},
        {300, {"\xac\x02", 2}},
        {UINT64_MAX, {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[16];
        const char *end = ab_pb_put_varint(out, cases[i].value);
        assert_int_equal(end - out, cases[i].bytes.len);
        assert_int_equal(ab_pb_varint_size(cases[i].value), cases[i].bytes.len);
        assert_memory_equal(out, cases[i].bytes.ptr, cases[i].bytes.len);
    }
}

static void each_type_is_taken(void **state)
{
    (void)state;
    ab_str in = AB_STR("\x08\xac\x02"
                       "\x11"
                       "12345678"
                       "\x1a\x03xyz"
                       "\x25"
                       "1234"
                       "\x2a\x00");
    ab_pb_field f;
    assert_int_equal(ab_pb_take(&in, &f), AB_ERR_OK);
    assert_true(f.number == 1 && f.type == AB_PB_VARINT && f.value == 300 && f.bytes.ptr == NULL);
    assert_int_equal(ab_pb_take(&in, &f), AB_ERR_OK);
    assert_true(f.number == 2 && f.type == AB_PB_FIXED64 && f.bytes.ptr == NULL);
    assert_int_equal(ab_pb_take(&in, &f), AB_ERR_OK);
    assert_true(f.number == 3 && f.type == AB_PB_BYTES && ab_str_is(f.bytes, "xyz"));
    assert_int_equal(ab_pb_take(&in, &f), AB_ERR_OK);
    assert_true(f.number == 4 && f.type == AB_PB_FIXED32);
    assert_int_equal(ab_pb_take(&in, &f), AB_ERR_OK);
    assert_true(f.number == 5 && ab_str_is(f.bytes, ""));
    assert_int_equal(in.len, 0);
}

static void what_is_no_field_is_refused(void **state)
{
    (void)state;
    static const ab_str cases[] = {
        {"", 0},
        {"\x08", 1},                                              /* no value */
        {"\x08\x80", 2},                                          /* half a value */
        {"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12}, /* more than 64 bits */
        {"\x00\x01", 2},                                          /* number 0 */
        {"\x0a\x02x", 3},                                         /* shorter than it says */
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 12},
        {"\x09"
         "1234567",
         8},
        {"\x0d"
         "123",
         4},
        {"\x0b", 1}, /* a group */
        {"\x0c", 1},
        {"\x0e", 1}, /* no type */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ab_str in = cases[i];
        ab_pb_field f;
        assert_int_equal(ab_pb_take(&in, &f), AB_ERR_PARSE);
    }
}

static void a_field_of_bytes_comes_back(void **state)
{
    (void)state;
    static char bytes[70000];
    static char out[sizeof(bytes) + 16];
    const size_t sizes[] = {0, 1, 127, 128, 16383, 16384, sizeof(bytes)};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const char *end = ab_pb_put_bytes(out, 15, (ab_str){bytes, sizes[i]});
        ab_str in = {out, (size_t)(end - out)};
        ab_pb_field f;
        assert_int_equal(in.len, ab_pb_bytes_size(sizes[i]));
        assert_int_equal(ab_pb_take(&in, &f), AB_ERR_OK);
        assert_int_equal(f.number, 15);
        assert_int_equal(f.bytes.len, sizes[i]);
        assert_int_equal(in.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_varint_has_the_bytes_that_its_size_says),
        cmocka_unit_test(each_type_is_taken),
        cmocka_unit_test(what_is_no_field_is_refused),
        cmocka_unit_test(a_field_of_bytes_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
