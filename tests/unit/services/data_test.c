/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static char path[96];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/argobus-mapping-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/mapping", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    snprintf(path, sizeof(path), "%s/agent", folder);
    (void)unlink(path);
    return rmdir(folder);
}

static ab_err check(const char *mapping, ab_error *err)
{
    return ab_data_claim(folder, mapping, "agent.data", err);
}

static void the_first_one_is_noted_and_holds(void **state)
{
    (void)state;
    ab_error err = {0};
    assert_int_equal(check("namespace", &err), AB_ERR_OK);
    assert_int_equal(check("namespace", &err), AB_ERR_OK);
    assert_int_equal(check("destination", &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "agent.data was used with namespace"));
    assert_int_equal(check("namespace", &err), AB_ERR_OK);
}

static void one_that_was_not_written_counts_as_none(void **state)
{
    (void)state;
    ab_error err = {0};
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(check("destination", &err), AB_ERR_OK);
    assert_int_equal(check("namespace", &err), AB_ERR_CONFIG);
}

static void a_folder_that_is_not_there_is_made(void **state)
{
    (void)state;
    ab_error err = {0};
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(check("namespace", &err), AB_ERR_OK);
    assert_int_equal(access(path, F_OK), 0);
}

static void a_folder_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    ab_error err = {0};
    assert_int_equal(ab_data_claim("/nowhere/at/all", "namespace", "agent.data", &err),
                     AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "agent.data: cannot create the folder /nowhere/at/all"));
}

static void the_first_agent_is_noted_and_no_other_may_use_it(void **state)
{
    (void)state;
    ab_error err = {0};
    char name[96];
    snprintf(name, sizeof(name), "%s/agent", folder);
    assert_int_equal(ab_data_claim_agent(folder, "w1", &err), AB_ERR_OK);
    assert_int_equal(ab_data_claim_agent(folder, "w1", &err), AB_ERR_OK);
    assert_int_equal(ab_data_claim_agent(folder, "w2", &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "agent.name is w2, but agent.data was used by agent w1"));
    assert_int_equal(ab_data_claim_agent(folder, "w1", &err), AB_ERR_OK);
    assert_int_equal(unlink(name), 0);
}

/* Its name has as many characters as one may have. */
static void the_longest_name_of_an_agent_is_noted_whole(void **state)
{
    (void)state;
    ab_error err = {0};
    char file[96], name[64], other[64];
    snprintf(file, sizeof(file), "%s/agent", folder);
    memset(name, 'a', 63);
    name[63] = '\0';
    memcpy(other, name, 64);
    other[62] = 'b';
    assert_int_equal(ab_data_claim_agent(folder, name, &err), AB_ERR_OK);
    assert_int_equal(ab_data_claim_agent(folder, name, &err), AB_ERR_OK);
    assert_int_equal(ab_data_claim_agent(folder, other, &err), AB_ERR_CONFIG);
    assert_int_equal(unlink(file), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_first_one_is_noted_and_holds),
        CASE(one_that_was_not_written_counts_as_none),
        CASE(a_folder_that_is_not_there_is_made),
        CASE(a_folder_that_cannot_be_made_is_named),
        CASE(the_first_agent_is_noted_and_no_other_may_use_it),
        CASE(the_longest_name_of_an_agent_is_noted_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
