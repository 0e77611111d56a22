/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data.h"

#include "services/agent/agent.h"

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

/* --- what --check-config says of folders --- */

static ab_err checked(const char *data, const char *store, ab_error *err)
{
    char sets[2][160];
    static ab_options tables[AB_SERVICE_OPTIONS_MAX];
    ab_config *config = NULL;
    snprintf(sets[0], sizeof(sets[0]), "agent.data=%s", data);
    snprintf(sets[1], sizeof(sets[1]), "store.directory.path=%s", store);
    const char *set[] = {sets[0], sets[1], "store.kind=directory"};
    const ab_config_sources sources = {.set = set, .set_count = 3};
    assert_int_equal(ab_config_load(tables, ab_agent_options(tables), &sources, &config, err),
                     AB_ERR_OK);
    ab_err e = ab_data_check(config, "agent.data", err);
    ab_config_free(config);
    return e;
}

static void assert_refused(const char *data, const char *store, const char *why)
{
    ab_error err = {0};
    assert_int_equal(checked(data, store, &err), AB_ERR_CONFIG);
    if (strstr(err.text, why) == NULL)
        fail_msg("\"%s\" does not say: %s", err.text, why);
}

static void folders_that_a_start_can_use_are_good_and_stay_as_they_are(void **state)
{
    (void)state;
    ab_error err = {0};
    assert_int_equal(checked(folder, folder, &err), AB_ERR_OK);
    assert_int_equal(checked(path, folder, &err), AB_ERR_OK);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_folder_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_refused("/nowhere/at/all", folder, "agent.data: /nowhere/at/all does not exist");
    assert_refused(folder, path, "store.directory.path: this user cannot read and write");
}

static void a_file_is_not_a_folder(void **state)
{
    (void)state;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    assert_refused(path, folder, "mapping is not a folder");
    assert_refused(folder, path, "mapping is not a folder");
}

static void a_folder_of_another_user_is_not_writable(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(seteuid(65534), 0);
    assert_refused(folder, folder, "agent.data: this user cannot read and write");
    assert_refused("/usr/argobus", folder, "agent.data: /usr/argobus does not exist");
    assert_refused("/tmp/argobus-data", folder, "store.directory.path: this user cannot");
    assert_int_equal(seteuid(0), 0);
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
        CASE(folders_that_a_start_can_use_are_good_and_stay_as_they_are),
        CASE(a_folder_that_is_not_there_is_named),
        CASE(a_file_is_not_a_folder),
        CASE(a_folder_of_another_user_is_not_writable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
