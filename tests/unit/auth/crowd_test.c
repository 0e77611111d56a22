/* SPDX-License-Identifier: Apache-2.0
 *
 * Very many logins and refreshes at once: how many passwords are hashed and tokens made, and that
 * nobody else waits for it.
 */
#include "auth/jwt.h"
#include "auth/passwords.h"
#include "auth/pool.h"
#include "tests/unit/auth/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define HASH     "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define LOGINS   600
#define BURST    60 /* of one address, as docs/operate/authentication.md says */
#define FAILURES 10 /* of one certificate */

#define NICE 10
#define JOBS 4096

/* Password checks hang while `shut`; tokens cannot be made while `jammed`, which costs less. */
static struct {
    uv_mutex_t lock;
    uv_cond_t changed;
    bool shut;
    bool jammed;
    unsigned hashed;
    int priority; /* of the thread that hashed last */
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
    gate.priority = getpriority(PRIO_PROCESS, (id_t)gettid());
    while (gate.shut)
        uv_cond_wait(&gate.changed, &gate.lock);
    uv_mutex_unlock(&gate.lock);
    return strcmp(password, "secret") == 0 ? AB_ERR_OK : AB_ERR_DENIED;
}

ab_err __real_ab_jwt_sign(EVP_PKEY *key, ab_jwt_use use, const ab_jwt_claims *claims, ab_buf *out);
ab_err __wrap_ab_jwt_sign(EVP_PKEY *key, ab_jwt_use use, const ab_jwt_claims *claims, ab_buf *out);
ab_err __wrap_ab_jwt_sign(EVP_PKEY *key, ab_jwt_use use, const ab_jwt_claims *claims, ab_buf *out)
{
    return gate.jammed ? AB_ERR_NOMEM : __real_ab_jwt_sign(key, use, claims, out);
}

typedef struct {
    world w;
    outcome *logins;
} crowd;

static void set_up(crowd *c)
{
    gate.shut = true;
    gate.jammed = false;
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
    int own = getpriority(PRIO_PROCESS, (id_t)gettid());
    assert_true(own >= NICE || gate.priority > own);
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

typedef struct {
    unsigned ended;
    unsigned busy;
    bool all;
} refreshes;

static void on_refreshed(void *arg, ab_err code, const ab_error *err, const ab_auth_grant *granted)
{
    refreshes *r = arg;
    assert_null(granted);
    assert_int_equal(code, strcmp(err->text, "too many logins are waiting") == 0 ? AB_ERR_FULL
                                                                                 : AB_ERR_NOMEM);
    r->busy += code == AB_ERR_FULL;
    r->all = ++r->ended == JOBS + 1;
}

static void only_so_many_tokens_are_being_made(void **state)
{
    (void)state;
    crowd c;
    caller agents[2];
    refreshes r = {0};
    set_up(&c);
    made_cert one = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "w1"});
    made_cert two = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "w2"});
    caller_init(&agents[0], "2001:db8::1", one.cert);
    caller_init(&agents[1], "2001:db8::2", two.cert);
    outcome o = log_in(&c.w, &agents[0], "mtls", "managed", NULL, NULL);
    assert_granted(&o, "w1");
    gate.jammed = true;
    for (int i = 0; i <= JOBS; i++)
        assert_int_equal(
            ab_auth_refresh(c.w.auth, &agents[0].peer, ab_str_of(o.refresh), on_refreshed, &r),
            AB_ERR_OK);
    for (size_t i = 0; i < FAILURES; i++)
        begin_login(&c.w, &agents[1], "mtls", "managed", NULL, NULL, &c.logins[i]);
    world_wait(&c.w, &r.all);
    assert_int_equal(r.busy, 1);
    for (size_t i = 0; i < FAILURES; i++)
        world_wait(&c.w, &c.logins[i].ended);
    assert_int_equal(count_ended(&c, "too many logins are waiting"), FAILURES);
    gate.jammed = false; /* and those were no failures of the agent's */
    o = log_in(&c.w, &agents[1], "mtls", "managed", NULL, NULL);
    assert_granted(&o, "w2");
    caller_fini(&agents[0]);
    caller_fini(&agents[1]);
    made_cert_free(&one);
    made_cert_free(&two);
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
        cmocka_unit_test(only_so_many_tokens_are_being_made),
        cmocka_unit_test(only_so_many_wait),
        cmocka_unit_test(those_that_wait_are_not_hashed_at_the_end),
    };
    uv_mutex_init(&gate.lock);
    uv_cond_init(&gate.changed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
