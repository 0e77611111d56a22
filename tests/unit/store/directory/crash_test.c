/* SPDX-License-Identifier: Apache-2.0
 *
 * The store is killed before each of the system calls that change the tree, one after the other,
 * and started again on what is left. What a power cut takes back besides is what was not synced.
 * The linker puts the calls below before those of libc (CMakeLists.txt: --wrap).
 *
 * The program runs itself as `crash_test child <folder> <calls before death>`; the child writes a
 * line for each thing it was told by the store, and the parent holds the lines of all children
 * against the promises.
 */
#include "tests/unit/store/directory/tree.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int calls_left = -1; /* -1: live */

static void count_call(void)
{
    if (__atomic_load_n(&calls_left, __ATOMIC_SEQ_CST) < 0)
        return;
    if (__atomic_sub_fetch(&calls_left, 1, __ATOMIC_SEQ_CST) < 0)
        (void)kill(getpid(), SIGKILL);
}

/* Folders with changes that were not synced yet; "": none. */
static char unsynced[8][PATH_MAX];

static char *place_in_unsynced(int folder, char path[PATH_MAX])
{
    char link[64];
    char *free_place = NULL;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    assert_true(len > 0);
    path[len] = '\0';
    for (size_t i = 0; i < sizeof(unsynced) / sizeof(unsynced[0]); i++) {
        if (strcmp(unsynced[i], path) == 0)
            return unsynced[i];
        if (unsynced[i][0] == '\0')
            free_place = unsynced[i];
    }
    return free_place;
}

static void note_change(int folder)
{
    char path[PATH_MAX];
    char *place = place_in_unsynced(folder, path);
    assert_non_null(place);
    memcpy(place, path, sizeof(path));
}

static void note_sync(int folder)
{
    char path[PATH_MAX];
    char *place = place_in_unsynced(folder, path);
    if (place != NULL)
        place[0] = '\0';
}

int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_mkdirat(int dir, const char *name, mode_t mode);
int __wrap_mkdirat(int dir, const char *name, mode_t mode);

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    count_call();
    note_change(to_dir);
    return __real_renameat(from_dir, from, to_dir, to);
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
    count_call();
    note_change(dir);
    return __real_unlinkat(dir, name, flags);
}

int __wrap_fsync(int fd)
{
    count_call();
    note_sync(fd);
    return __real_fsync(fd);
}

int __wrap_mkdirat(int dir, const char *name, mode_t mode)
{
    count_call();
    note_change(dir);
    return __real_mkdirat(dir, name, mode);
}

/* ---- child */

static char child_folder[PATH_MAX];
static char child_setting[PATH_MAX + 32];

static void *child_make(void)
{
    return child_folder;
}

static const char *child_config(void *place, size_t i)
{
    (void)snprintf(child_setting, sizeof(child_setting), "store.directory.path=%s", (char *)place);
    return i == 0 ? "store.kind=directory" : i == 1 ? child_setting : NULL;
}

static void child_destroy(void *place)
{
    (void)place;
}

static const store_place child_place = {
    .name = "child", .make = child_make, .setting = child_config, .destroy = child_destroy};

/* Member `n` of .spec or .status, 0 when there is none. */
static int64_t number_of(const ab_object *o, const char *field)
{
    int64_t n = 0;
    return ab_span_i64(ab_span_get(ab_object_field(o, field), "n"), &n) == AB_ERR_OK ? n : 0;
}

static void say(const char *what, const ab_object *o)
{
    int64_t generation = 0;
    int64_t n = number_of(o, "spec");
    int64_t status = number_of(o, "status");
    assert_int_equal(ab_span_i64(ab_object_meta(o, "generation"), &generation), AB_ERR_OK);
    printf("%s %.*s %.*s %.*s %lld %lld %lld\n", what, AB_STR_ARG(ab_object_name(o)),
           AB_STR_ARG(ab_object_uid(o)), AB_STR_ARG(ab_object_version(o)), (long long)generation,
           (long long)n, (long long)status);
    (void)fflush(stdout);
}

static void tell(const char *what, const char *name)
{
    printf("%s %s - 0 0 0 0\n", what, name);
    (void)fflush(stdout);
}

static const char *key_of(const char *name)
{
    static char key[128];
    (void)snprintf(key, sizeof(key), "Application/argocd/%s", name);
    return key;
}

static void child_apply(world *w, const char *name, int64_t n)
{
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "{\"kind\":\"Application\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
                   "\"argocd\"},\"spec\":{\"n\":%lld}}",
                   name, (long long)n);
    result r = do_apply(w, text, NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    say("is", r.object);
    result_fini(&r);
}

static void child_patch(world *w, const char *name, int64_t n)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "{\"n\":%lld}", (long long)n);
    result r = do_patch(w, key_of(name), text, NULL, NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    say("is", r.object);
    result_fini(&r);
}

static void child_remove(world *w, const char *name)
{
    tell("removing", name);
    result r = do_remove(w, key_of(name), NULL);
    assert_true(r.code == AB_ERR_OK || r.code == AB_ERR_NOTFOUND);
    tell("removed", name);
}

static int64_t next_of(world *w, const char *name)
{
    const ab_object *o = last_seen(w, key_of(name));
    return o == NULL ? 1 : number_of(o, "spec") + 1;
}

static void child_run(void **state)
{
    (void)state;
    world *w = world_new(&child_place);
    for (size_t i = 0; i < w->count; i++)
        if (w->changes[i].change == AB_STORE_UPDATED)
            say("is", w->changes[i].object);
    tell("listed", "-");
    for (int i = 0; i < 2; i++) {
        child_apply(w, "single", next_of(w, "single"));
        child_patch(w, "single", next_of(w, "single"));
        child_apply(w, "one", next_of(w, "one"));
        child_apply(w, "two", next_of(w, "two"));
        child_patch(w, "two", next_of(w, "two"));
        child_apply(w, "passing", next_of(w, "passing"));
        child_remove(w, "passing");
    }
    world_free(w);
}

/* ---- parent */

/* What was promised of one object so far. */
typedef struct {
    char name[32];
    bool exists;   /* it was acknowledged */
    bool removing; /* its removal was asked for and may have happened */
    bool listed;   /* seen since the last start */
    char uid[40];
    long long version, generation, n, status;
} known;

static known objects[4];

static known *known_of(const char *name)
{
    for (size_t i = 0; i < 4; i++) {
        if (objects[i].name[0] == '\0')
            (void)snprintf(objects[i].name, sizeof(objects[i].name), "%s", name);
        if (strcmp(objects[i].name, name) == 0)
            return &objects[i];
    }
    fail_msg("unknown object %s", name);
    return NULL;
}

static void check_is(known *k, const known *now)
{
    if (k->removing && strcmp(k->uid, now->uid) != 0)
        k->exists = false;
    if (k->exists) {
        assert_string_equal(k->uid, now->uid);
        assert_true(now->version >= k->version);
        assert_true(now->generation >= k->generation);
        assert_true(now->n >= k->n);
        assert_true(now->status >= k->status);
    }
    *k = *now;
    k->exists = true;
    k->listed = true;
}

static void check_listed(void)
{
    for (size_t i = 0; i < 4; i++) {
        known *k = &objects[i];
        if (k->exists && !k->listed && !k->removing)
            fail_msg("%s is lost", k->name);
        if (!k->listed)
            k->exists = false;
    }
}

static void check_line(const char *line)
{
    char what[16];
    known now = {0};
    assert_int_equal(sscanf(line, "%15s %31s %39s %lld %lld %lld %lld", what, now.name, now.uid,
                            &now.version, &now.generation, &now.n, &now.status),
                     7);
    if (strcmp(what, "listed") == 0) {
        check_listed();
        return;
    }
    known *k = known_of(now.name);
    if (strcmp(what, "is") == 0)
        check_is(k, &now);
    else if (strcmp(what, "removing") == 0)
        k->removing = true;
    else
        k->exists = false;
}

/* Run a child to its end. @return true when it lived through */
static bool run_child(const char *folder, int calls)
{
    char number[16];
    int ends[2];
    (void)snprintf(number, sizeof(number), "%d", calls);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execl("/proc/self/exe", "crash_test", "child", folder, number, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    for (size_t i = 0; i < 4; i++)
        objects[i].listed = false;
    FILE *lines = fdopen(ends[0], "r");
    char line[512];
    while (fgets(line, sizeof(line), lines) != NULL)
        if (line[0] != '[')
            check_line(line);
    (void)fclose(lines);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return false;
}

static void a_kill_before_any_step_loses_nothing_and_goes_back_in_nothing(void **state)
{
    (void)state;
    world *w = world_new_place(&directory_place);
    char text[2048];
    (void)snprintf(text, sizeof(text), "%s---\n%s", manifest("one", "{n: 1}"),
                   manifest("two", "{n: 1}"));
    person_writes(w, "argocd/Application/both.yaml", text);
    memset(objects, 0, sizeof(objects));
    int calls = 0;
    while (!run_child(directory_place_path(w->place), calls))
        calls++;
    assert_true(calls > 50);
    assert_true(run_child(directory_place_path(w->place), INT_MAX));
    world_free(w);
}

/* @param but  a folder that need not be; NULL: none */
static void assert_synced(const char *but)
{
    for (size_t i = 0; i < sizeof(unsynced) / sizeof(unsynced[0]); i++)
        if (unsynced[i][0] != '\0' && (but == NULL || strstr(unsynced[i], but) == NULL))
            fail_msg("%s is not synced", unsynced[i]);
}

static void apply(world *w, const char *name, const char *n, const char *need_not_be_synced)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "{\"kind\":\"Application\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
                   "\"argocd\"},\"spec\":{\"n\":%s}}",
                   name, n);
    result r = do_apply(w, text, NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_synced(need_not_be_synced);
    result_fini(&r);
}

static void what_is_told_as_done_is_synced(void **state)
{
    (void)state;
    world *w = world_new(&directory_place);
    memset(unsynced, 0, sizeof(unsynced));
    apply(w, "one", "1", NULL);
    apply(w, "one", "2", "/.argobus"); /* the former sidecar does as well */
    result r = do_patch(w, key_of("one"), "{\"n\":1}", NULL, NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_synced(NULL);
    result_fini(&r);
    r = do_remove(w, key_of("one"), NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_synced(NULL);
    result_fini(&r);
    world_free(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest child[] = {cmocka_unit_test(child_run)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_before_any_step_loses_nothing_and_goes_back_in_nothing),
        cmocka_unit_test(what_is_told_as_done_is_synced),
    };
    if (argc != 4)
        return cmocka_run_group_tests(tests, NULL, NULL);
    (void)snprintf(child_folder, sizeof(child_folder), "%s", argv[2]);
    calls_left = (int)strtol(argv[3], NULL, 10);
    return cmocka_run_group_tests(child, NULL, NULL);
}
