/* SPDX-License-Identifier: Apache-2.0
 *
 * Of a token that is read, no copy is left in memory that is freed.
 */
#include "store/kubernetes/access/access_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TOKEN "eyJhbGciOiJSUzI1NiJ9."
#define TIMES 1000 /* a buffer for all of them has grown */

static size_t left; /* blocks that growing has left with the token in them */

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

/* It may leave a copy behind. */
void *__wrap_realloc(void *old, size_t size)
{
    if (old != NULL && strstr(old, TOKEN) != NULL)
        left++;
    return __real_realloc(old, size);
}

static void write_tokens(char path[])
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (unsigned n = 0; n < TIMES; n++)
        assert_int_equal(write(fd, TOKEN, strlen(TOKEN)), strlen(TOKEN));
    assert_int_equal(close(fd), 0);
}

static void reading_a_token_leaves_no_copy(void **state)
{
    char path[] = "/tmp/argobus-token-XXXXXX";
    ab_kube_text text = {0};
    ab_error err = {0};
    (void)state;
    write_tokens(path);
    const ab_kube_text from = {.path = path};
    assert_int_equal(ab_kube_text_load(&from, &text, &err), AB_ERR_OK);
    assert_int_equal(ab_kube_text_str(&text).len, TIMES * strlen(TOKEN));
    assert_int_equal(left, 0);
    ab_kube_text_fini(&text);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_a_token_leaves_no_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
