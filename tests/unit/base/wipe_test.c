/* SPDX-License-Identifier: Apache-2.0
 *
 * Where secrets pass, none of their bytes are in memory that is freed. Each free of our own code is
 * looked at.
 */
#include "base/config/config.h"
#include "base/crypto/seal.h"
#include "base/json/object.h"
#include "base/yaml/yaml.h"
#include "tests/unit/base/crypto/made_cert.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PASSWORD "aHVudGVyMg=="
#define SECRET                                                                                     \
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"}" \
    ","                                                                                            \
    "\"data\":{\"password\":\"" PASSWORD "\"}}"

static size_t left; /* blocks that were freed with the password in them */

void __real_free(void *p);
void __wrap_free(void *p);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

static void look(const void *p)
{
    if (p != NULL &&
        memmem(p, malloc_usable_size((void *)(uintptr_t)p), PASSWORD, sizeof(PASSWORD) - 1) != NULL)
        left++;
}

void __wrap_free(void *p)
{
    look(p);
    __real_free(p);
}

/* Growing may leave a copy behind. */
void *__wrap_realloc(void *p, size_t size)
{
    look(p);
    return __real_realloc(p, size);
}

static int nothing_left(void **state)
{
    (void)state;
    left = 0;
    return 0;
}

static void a_document_that_is_wiped_leaves_nothing(void **state)
{
    (void)state;
    ab_span *doc = NULL;
    assert_int_equal(ab_span_parse(AB_STR(SECRET), &doc, NULL), AB_ERR_OK);
    ab_span_wipe(doc);
    assert_int_equal(left, 0);
    assert_int_equal(ab_span_parse(AB_STR(SECRET), &doc, NULL), AB_ERR_OK);
    ab_span_free(doc);
    assert_int_equal(left, 1); /* this test sees what is left */
}

static void a_secret_object_leaves_nothing(void **state)
{
    (void)state;
    ab_object *o = NULL;
    assert_int_equal(ab_object_parse(AB_STR(SECRET), &o, NULL), AB_ERR_OK);
    ab_object_unref(o);
    assert_int_equal(left, 0);
}

static void a_secret_buffer_leaves_nothing_as_it_grows(void **state)
{
    (void)state;
    ab_buf b;
    ab_buf_init_secret(&b, 1 << 20);
    for (int i = 0; i < 1000; i++)
        ab_buf_puts(&b, PASSWORD);
    assert_int_equal(b.len, 1000 * (sizeof(PASSWORD) - 1));
    ab_buf_fini(&b);
    ab_buf_puts(&b, PASSWORD); /* as after init */
    ab_buf_fini(&b);
    assert_int_equal(left, 0);
}

static void sealing_and_opening_leave_nothing(void **state)
{
    (void)state;
    made_cert m = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "west"});
    const ab_seal_binding binding = {AB_STR("west"), AB_STR("k"), AB_STR("1.1"), AB_STR("c")};
    ab_seal_recipient *to = NULL;
    ab_seal_opener *opener = NULL;
    ab_buf sealed, opened;
    ab_buf_init(&sealed, 1 << 20);
    ab_buf_init_secret(&opened, 1 << 20);
    assert_int_equal(ab_seal_recipient_new(ab_str_of(m.cert), AB_STR_NONE, NULL, "west", &to, NULL),
                     AB_ERR_OK);
    assert_int_equal(ab_seal_opener_new(ab_str_of(m.cert), ab_str_of(m.key), &opener, NULL),
                     AB_ERR_OK);
    assert_int_equal(ab_seal(to, &binding, AB_STR(SECRET), &sealed, NULL), AB_ERR_OK);
    assert_int_equal(ab_seal_open(opener, &binding, ab_buf_str(&sealed), &opened, NULL), AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(&opened), SECRET));
    ab_buf_fini(&opened);
    ab_buf_fini(&sealed);
    ab_seal_recipient_free(to);
    ab_seal_opener_free(opener);
    made_cert_free(&m);
    assert_int_equal(left, 0);
}

static const ab_option rows[] = {
    {.name = "password", .kind = AB_OPT_STRING, .secret = true, .help = "Word."},
    {.name = "librdkafka", .kind = AB_OPT_MAP, .help = "Passed through."},
    {.name = "words", .kind = AB_OPT_LIST, .help = "Some."},
    {.name = "agents", .kind = AB_OPT_OBJECTS, .choices = "name|word", .help = "Some."},
};
static const ab_options table = {rows, sizeof(rows) / sizeof(rows[0])};

/* @return what loading says; `set` may be NULL */
static ab_err load(const char *text, const char *set)
{
    char path[] = "/tmp/wipe_test.XXXXXX";
    ab_config *c = NULL;
    ab_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    const ab_config_sources from = {.file = path, .set = &set, .set_count = set != NULL};
    ab_err e = ab_config_load(&table, 1, &from, &c, &err);
    unlink(path);
    ab_config_free(c);
    assert_null(strstr(err.text, PASSWORD));
    return e;
}

static void a_configuration_leaves_nothing(void **state)
{
    (void)state;
    /* Of several lengths, as buffers grow in steps. */
    static const char *const texts[] = {
        "password: " PASSWORD "\nlibrdkafka: {sasl.password: " PASSWORD "}\n",
        "words: [a, " PASSWORD "]\nagents: [{name: a, word: " PASSWORD "}]\n",
        "librdkafka:\n  ssl.key.password: " PASSWORD PASSWORD PASSWORD PASSWORD PASSWORD PASSWORD
            PASSWORD PASSWORD PASSWORD PASSWORD PASSWORD PASSWORD PASSWORD "\n",
        "{\"librdkafka\": {\"sasl.password\": \"" PASSWORD "\"}}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(load(texts[i], NULL), AB_ERR_OK);
    assert_int_equal(load(texts[0], "librdkafka.sasl.password=" PASSWORD), AB_ERR_OK);
    assert_int_equal(load("librdkafka: {sasl.password: [" PASSWORD "]}", NULL), AB_ERR_CONFIG);
    assert_int_equal(left, 0);
}

static void yaml_leaves_nothing(void **state)
{
    (void)state;
    ab_buf text;
    ab_buf_init_secret(&text, 1 << 20);
    assert_int_equal(ab_yaml_from_json(AB_STR(SECRET), &text, NULL), AB_ERR_OK);
    ab_buf_fini(&text);
    assert_int_equal(left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_document_that_is_wiped_leaves_nothing, nothing_left),
        cmocka_unit_test_setup(a_secret_object_leaves_nothing, nothing_left),
        cmocka_unit_test_setup(a_secret_buffer_leaves_nothing_as_it_grows, nothing_left),
        cmocka_unit_test_setup(a_configuration_leaves_nothing, nothing_left),
        cmocka_unit_test_setup(yaml_leaves_nothing, nothing_left),
        cmocka_unit_test_setup(sealing_and_opening_leave_nothing, nothing_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
