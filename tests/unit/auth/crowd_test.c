/* SPDX-License-Identifier: Apache-2.0
 *
 * Very many logins with passwords at once: how many are hashed, and that nobody else waits for it.
 */
#include "auth/passwords.h"
#include "auth/pool.h"
#include "tests/unit/auth/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HASH   "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define LOGINS 600
#define BURST  60 /* of one address, as docs/operate/authentication.md says */

/* Password checks hang while `shut`. */
static struct {
    uv_mutex_t lock;
    uv_cond_t changed;
    bool shut;
    unsigned hashed;
} gate;

static void set_gate(bool shut)
{
    uv_mutex_lock(&gate.lock);
    gate.shut = shut;
    uv_cond_broadcast(&gate.changed);
    uv_mutex_unlock(&gate.lock);
}

static unsigned hashed(void)
{
    uv_mutex_lock(&gate.lock);
    unsigned count = gate.hashed;
    uv_mutex_unlock(&gate.lock);
    return count;
}

ab_err __wrap_ab_password_check(const char *password, const char *hash);
ab_err __wrap_ab_password_check(const char *password, const char *hash)
{
    (void)hash;
    uv_mutex_lock(&gate.lock);
    gate.hashed++;
    while (gate.shut)
        uv_cond_wait(&gate.changed, &gate.lock);
    uv_mutex_unlock(&gate.lock);
    return strcmp(password, "secret") == 0 ? AB_ERR_OK : AB_ERR_DENIED;
}

typedef struct {
    world w;
    outcome *logins;
} crowd;

static void set_up(crowd *c)
{
    gate.shut = true;
    gate.hashed = 0;
    world_init(&c->w);
    world_write(&c->w, "users", "w1:" HASH "\n");
    if (world_open(&c->w, WORDS("grpc.auth.accept=mtls,userpass",
                                "grpc.auth.userpass.file=%s/users")) != AB_ERR_OK)
        fail_msg("%s", c->w.err.text);
    c->logins = calloc(LOGINS, sizeof(*c->logins));
    assert_non_null(c->logins);
}

static void tear_down(crowd *c)
{
    set_gate(false);
    world_fini(&c->w);
    free(c->logins);
}

/* All at once; `networks` addresses take turns. */
static void begin_all(crowd *c, unsigned networks, const char *password)
{
    for (unsigned i = 0; i < LOGINS; i++) {
        char address[32], user[16];
        caller from;
        (void)snprintf(address, sizeof(address), "2001:db8:0:%x::%x", i % networks, i + 1);
        (void)snprintf(user, sizeof(user), "u%u", i);
        caller_init(&from, address, NULL);
        begin_login(&c->w, &from, "userpass", "managed", user, password, &c->logins[i]);
    }
}

static unsigned count_ended(const crowd *c, const char *reason)
{
    unsigned count = 0;
    for (unsigned i = 0; i < LOGINS; i++)
        count += c->logins[i].ended && strcmp(c->logins[i].err.text, reason) == 0;
    return count;
}

static void wait_for_all(crowd *c)
{
    set_gate(false);
    for (unsigned i = 0; i < LOGINS; i++)
        world_wait(&c->w, &c->logins[i].ended);
}

static void no_more_of_one_address_are_hashed_than_may_fail(void **state)
{
    (void)state;
    crowd c;
    set_up(&c);
    begin_all(&c, 1, "wrong");
    wait_for_all(&c);
    assert_int_equal(hashed(), BURST);
    assert_int_equal(count_ended(&c, "no such user in grpc.auth.userpass.file"), BURST);
    assert_int_equal(count_ended(&c, "it failed too often lately"), LOGINS - BURST);
    tear_down(&c);
}

static void a_certificate_logs_in_while_passwords_are_checked(void **state)
{
    (void)state;
    crowd c;
    caller agent;
    made_cert cert = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "w1"});
    set_up(&c);
    caller_init(&agent, "2001:db8::1", cert.cert);
    begin_all(&c, 1, "wrong");
    outcome o = log_in(&c.w, &agent, "mtls", "managed", NULL, NULL);
    assert_granted(&o, "w1");
    assert_true(hashed() <= BURST);
    assert_int_equal(count_ended(&c, "no such user in grpc.auth.userpass.file"), 0);
    wait_for_all(&c);
    caller_fini(&agent);
    made_cert_free(&cert);
    tear_down(&c);
}

static void only_so_many_wait(void **state)
{
    (void)state;
    crowd c;
    set_up(&c);
    begin_all(&c, LOGINS / BURST, "wrong");
    wait_for_all(&c);
    /* Those that wait, and those that a thread had begun. */
    assert_in_range(hashed(), AB_AUTH_POOL_QUEUE, AB_AUTH_POOL_QUEUE + 2);
    assert_int_equal(count_ended(&c, "too many logins are waiting"), LOGINS - hashed());
    tear_down(&c);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void those_that_wait_are_not_hashed_at_the_end(void **state)
{
    (void)state;
    crowd c;
    bool closed = false;
    set_up(&c);
    begin_all(&c, LOGINS / BURST, "secret");
    ab_auth_close(c.w.auth, on_closed, &closed);
    set_gate(false);
    world_wait(&c.w, &closed);
    assert_true(hashed() <= 2);
    assert_int_equal(count_ended(&c, "stopping"), LOGINS);
    ab_auth_free(c.w.auth);
    c.w.auth = NULL;
    tear_down(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_of_one_address_are_hashed_than_may_fail),
        cmocka_unit_test(a_certificate_logs_in_while_passwords_are_checked),
        cmocka_unit_test(only_so_many_wait),
        cmocka_unit_test(those_that_wait_are_not_hashed_at_the_end),
    };
    uv_mutex_init(&gate.lock);
    uv_cond_init(&gate.changed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
