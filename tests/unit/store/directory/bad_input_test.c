/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests that cannot be read, and trees that try to lead out of the folder. Each is reported and
 * counted, and `bystander` is read all the same.
 */
#include "tests/unit/store/directory/tree.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY       "Application/argocd/guestbook"
#define FILE_NAME "argocd/Application/guestbook.yaml"
#define BYSTANDER "Application/argocd/bystander"
#define PASSER_BY "Application/team/passer-by"

static world *begin(void)
{
    return world_new(&directory_place);
}

static void assert_bystander_is_read(world *w)
{
    size_t before = count_changes(w, AB_STORE_UPDATED, BYSTANDER);
    char spec[32];
    (void)snprintf(spec, sizeof(spec), "{n: %zu}", before);
    person_writes(w, "argocd/Application/bystander.yaml", manifest("bystander", spec));
    wait_changes(w, AB_STORE_UPDATED, BYSTANDER, before + 1);
}

/* What went before is told by then: an object is gone when no file had it for a while. */
static void wait_deletions(world *w)
{
    size_t before = count_changes(w, AB_STORE_DELETED, PASSER_BY);
    person_writes(w, "team/Application/passer-by.yaml", manifest("passer-by", "{}"));
    wait_changes(w, AB_STORE_UPDATED, PASSER_BY, before + 1);
    person_removes(w, "team/Application/passer-by.yaml");
    wait_changes(w, AB_STORE_DELETED, PASSER_BY, before + 1);
}

/* A text in the place of a known object's manifest: fault, count, state kept, and healed by a good
 * text. */
static void assert_fault(ab_str text, const char *reason, const char *words)
{
    world *w = begin();
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    person_writes_bytes(w, FILE_NAME, text);
    world_wait_fault(w, FILE_NAME, words);
    assert_true(faults_counted(w, reason) == 1);
    assert_bystander_is_read(w);
    wait_deletions(w);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 1);
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 2}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    world_free(w);
}

static void a_truncated_manifest_is_a_fault_with_its_line(void **state)
{
    (void)state;
    assert_fault(AB_STR("apiVersion: v1\nkind: Application\nmetadata:\n  name: \"guestb"), "parse",
                 "line 4");
    assert_fault(AB_STR("{\"kind\":\n\"Application\",\n\"metadata\":{"), "parse", "line");
}

/* cp, an editor or a redirection truncates the file, and has no room for what it was to hold. */
static void a_file_that_a_full_disk_left_empty_is_a_fault(void **state)
{
    (void)state;
    assert_fault((ab_str){"", 0}, "parse", "empty");
}

static bool clock_runs;

static int64_t held_ms(void *arg)
{
    (void)arg;
    return clock_runs ? 1000000 + ab_clock_mono_ms(&ab_clock_real) : 1000;
}

static int64_t held_us(void *arg)
{
    (void)arg;
    return 1000000;
}

/* As vim does: the file is moved to a backup, which is seen, then written again, and wrongly. */
static void what_was_missing_for_a_moment_is_not_gone_when_its_file_is_broken(void **state)
{
    (void)state;
    static const char *const broken[] = {"kind: [", "", "kind: Application\n---\nkind: 7\n"};
    const ab_clock clock = {held_ms, held_us, NULL};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        world *w = world_new_place(&directory_place);
        w->clock = &clock;
        clock_runs = false;
        world_start(w);
        person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
        wait_changes(w, AB_STORE_UPDATED, KEY, 1);
        person_renames(w, FILE_NAME, FILE_NAME "~");
        for (ab_err code = AB_ERR_OK; code != AB_ERR_NOTFOUND;) {
            result r = do_get(w, KEY);
            code = r.code;
            result_fini(&r);
        }
        person_writes(w, FILE_NAME, broken[i]);
        world_wait_fault(w, FILE_NAME, "");
        clock_runs = true;
        assert_bystander_is_read(w);
        wait_deletions(w);
        assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
        person_writes(w, FILE_NAME, manifest("guestbook", "{a: 2}"));
        wait_changes(w, AB_STORE_UPDATED, KEY, 2);
        world_free(w);
    }
}

static void duplicate_keys_are_a_fault(void **state)
{
    (void)state;
    assert_fault(AB_STR("kind: Application\nmetadata: {name: guestbook}\nspec: {a: 1, a: 2}\n"),
                 "parse", "line 3");
}

static void invalid_utf8_is_a_fault(void **state)
{
    (void)state;
    assert_fault(AB_STR("kind: Application\nmetadata: {name: guestbook}\nspec: {a: \xff\xfe}\n"),
                 "parse", "");
}

static void binary_rubbish_is_a_fault(void **state)
{
    (void)state;
    assert_fault(AB_STR("\0\1\2\3\x80\x7f\x45LF"), "parse", "");
}

static void a_document_that_is_no_object_is_a_fault(void **state)
{
    (void)state;
    assert_fault(AB_STR("just words\n"), "invalid", "line");
}

static void deep_nesting_is_a_fault(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    static char text[64 + DEPTH];
    int n = snprintf(text, sizeof(text), "kind: Application\nspec: ");
    memset(text + n, '[', DEPTH);
    assert_fault((ab_str){text, (size_t)n + DEPTH}, "too_big", "");
}

static void a_bomb_of_aliases_is_a_fault(void **state)
{
    (void)state;
    ab_buf text;
    ab_buf_init(&text, 65536);
    ab_buf_puts(&text,
                "kind: Application\nmetadata: {name: guestbook}\na0: &a0 [x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 30; i++)
        ab_buf_printf(&text, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1, i - 1, i - 1);
    assert_fault(ab_buf_str(&text), "too_big", "");
    ab_buf_fini(&text);
}

static void a_name_that_is_no_dns_name_is_a_fault(void **state)
{
    (void)state;
    assert_fault(AB_STR("kind: Application\nmetadata: {name: Guest_Book}\n"), "invalid", "name");
    assert_fault(AB_STR("kind: Application\nmetadata: {}\n"), "invalid", "name");
    assert_fault(AB_STR("kind: Application\nmetadata: {name: 5}\n"), "invalid", "name");
}

static void a_name_that_leads_elsewhere_is_a_fault(void **state)
{
    (void)state;
    assert_fault(AB_STR("kind: Application\nmetadata: {name: ../../../etc/passwd}\n"), "invalid",
                 "name");
    assert_fault(AB_STR("kind: Application\nmetadata: {name: ..}\n"), "invalid", "name");
    assert_fault(AB_STR("kind: Application\nmetadata: {name: guestbook, namespace: ../other}\n"),
                 "invalid", "namespace");
}

static void a_manifest_in_the_wrong_folder_is_a_fault(void **state)
{
    (void)state;
    assert_fault(AB_STR("kind: Application\nmetadata: {name: guestbook, namespace: other}\n"),
                 "invalid", "namespace");
    assert_fault(AB_STR("kind: AppProject\nmetadata: {name: guestbook}\n"), "invalid", "kind");
}

static void big_text(ab_buf *text, size_t size)
{
    ab_buf_init(text, 16 * 1024 * 1024);
    ab_buf_puts(text, manifest("guestbook", ""));
    while (text->len < size)
        ab_buf_printf(text, "  key%zu: some value that a person did not write\n", text->len);
}

static void a_manifest_of_2_mib_is_read(void **state)
{
    (void)state;
    world *w = begin();
    ab_buf text;
    big_text(&text, (size_t)2 << 20);
    person_writes_bytes(w, FILE_NAME, ab_buf_str(&text));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    assert_int_equal(w->fault_count, 0);
    ab_buf_fini(&text);
    world_free(w);
}

static void a_manifest_past_the_limit_is_a_fault(void **state)
{
    (void)state;
    ab_buf text;
    big_text(&text, (size_t)5 << 20);
    assert_fault(ab_buf_str(&text), "too_big", "");
    ab_buf_fini(&text);
}

static void a_good_document_before_a_broken_one_is_taken(void **state)
{
    (void)state;
    world *w = begin();
    char text[2048];
    (void)snprintf(text, sizeof(text), "%s---\n%s", manifest("guestbook", "{a: 1}"),
                   "kind: Application\nmetadata: {name: [\n");
    person_writes(w, FILE_NAME, text);
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    world_wait_fault(w, FILE_NAME, "line");
    world_free(w);
}

static void two_files_for_one_object_is_a_fault_that_names_both(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    char *uid = ab_str_dup(ab_object_uid(last_seen(w, KEY)));
    person_writes(w, "argocd/Application/another.yaml", manifest("guestbook", "{a: 2}"));
    world_wait_fault(w, "argocd/Application/another.yaml", FILE_NAME);
    assert_true(faults_counted(w, "two_files") == 1);
    assert_bystander_is_read(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 1);
    person_removes(w, FILE_NAME);
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    assert_text(TEXT_AT(last_seen(w, KEY), "spec", "a"), "2");
    assert_true(ab_str_is(ab_object_uid(last_seen(w, KEY)), uid));
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
    free(uid);
    world_free(w);
}

static void the_file_that_had_the_object_before_a_restart_keeps_it(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    world_stop(w);
    for (int start = 0; start < 2; start++) {
        world_forget(w);
        person_writes(w, "argocd/Application/a-first.yaml", manifest("guestbook", "{a: 2}"));
        world_start(w);
        world_wait_synced(w);
        assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 1);
        assert_text(TEXT_AT(last_seen(w, KEY), "spec", "a"), "1");
        assert_text(TEXT_AT(last_seen(w, KEY), "metadata", "generation"), "1");
        world_wait_fault(w, "a-first.yaml", FILE_NAME);
        world_stop(w);
    }
    world_forget(w);
    person_removes(w, FILE_NAME);
    world_start(w);
    world_wait_synced(w);
    assert_text(TEXT_AT(last_seen(w, KEY), "spec", "a"), "2");
    assert_text(TEXT_AT(last_seen(w, KEY), "metadata", "generation"), "2");
    world_free(w);
}

static void a_broken_sidecar_in_a_file_of_two_harms_one(void **state)
{
    (void)state;
    world *w = begin();
    char text[2048];
    (void)snprintf(text, sizeof(text), "%s---\n%s", manifest("guestbook", "{a: 1}"),
                   manifest("bystander", "{a: 2}"));
    person_writes(w, FILE_NAME, text);
    wait_changes(w, AB_STORE_UPDATED, BYSTANDER, 1);
    world_stop(w);
    world_forget(w);
    person_writes(w, "argocd/Application/.argobus/guestbook.json", "{}");
    world_start(w);
    wait_changes(w, AB_STORE_UPDATED, BYSTANDER, 1);
    world_wait_fault(w, FILE_NAME, ".argobus/guestbook.json");
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 0);
    world_free(w);
}

static void one_object_twice_in_a_file_is_a_fault(void **state)
{
    (void)state;
    world *w = begin();
    char text[2048];
    (void)snprintf(text, sizeof(text), "%s---\n%s", manifest("guestbook", "{a: 1}"),
                   manifest("guestbook", "{a: 2}"));
    person_writes(w, FILE_NAME, text);
    world_wait_fault(w, FILE_NAME, "twice");
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    assert_text(TEXT_AT(last_seen(w, KEY), "spec", "a"), "1");
    world_free(w);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, ".outside/guestbook.yaml", manifest("guestbook", "{a: 1}"));
    assert_bystander_is_read(w);
    char target[512];
    (void)snprintf(target, sizeof(target), "%s", path_of(w, ".outside/guestbook.yaml"));
    assert_int_equal(symlink(target, path_of(w, FILE_NAME)), 0);
    world_wait_fault(w, FILE_NAME, "symbolic link");
    assert_true(faults_counted(w, "denied") == 1);
    assert_int_equal(symlink(path_of(w, ".outside"), path_of(w, "other")), 0);
    world_wait_fault(w, "other", "symbolic link");
    assert_bystander_is_read(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 0);
    result r = do_get(w, KEY);
    assert_int_equal(r.code, AB_ERR_NOTFOUND);
    world_free(w);
}

/* It may hold any object that there was. */
static void one_that_cannot_be_read_at_a_start_keeps_its_object(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    char *uid = ab_str_dup(ab_object_uid(last_seen(w, KEY)));
    world_stop(w);
    world_forget(w);
    person_renames(w, FILE_NAME, ".outside/guestbook.yaml");
    assert_int_equal(symlink("nowhere", path_of(w, FILE_NAME)), 0);
    world_start(w);
    wait_changes(w, AB_STORE_LIST_DONE, NULL, 1);
    world_settle(w);
    assert_int_equal(count_changes(w, AB_STORE_SYNCED, NULL), 0);
    person_renames(w, ".outside/guestbook.yaml", FILE_NAME);
    world_wait_synced(w);
    assert_true(ab_str_is(ab_object_uid(last_seen(w, KEY)), uid));
    free(uid);
    world_free(w);
}

static void what_was_unreadable_is_read_when_the_rights_of_its_folder_are_right(void **state)
{
    (void)state;
    bool root = geteuid() == 0; /* whom no rights stop */
    assert_true(!root || seteuid(65534) == 0);
    world *w = begin();
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    FILE *f = fopen(path_of(w, FILE_NAME), "w");
    assert_non_null(f);
    assert_int_equal(chmod(path_of(w, ""), 0), 0);
    assert_true(fputs(manifest("guestbook", "{a: 2}"), f) >= 0);
    assert_int_equal(fclose(f), 0);
    world_wait_fault(w, FILE_NAME, "ermission");
    assert_int_equal(chmod(path_of(w, ""), 0700), 0);
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, NULL), 0);
    world_free(w);
    assert_true(!root || seteuid(0) == 0);
}

static void a_link_is_not_written_through(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, ".outside/other.yaml", "precious: 1\n");
    assert_int_equal(symlink(path_of(w, ".outside"), path_of(w, "argocd")), 0);
    result r = do_apply(w,
                        "{\"kind\":\"Application\",\"metadata\":{\"name\":\"guestbook\","
                        "\"namespace\":\"argocd\"}}",
                        NULL);
    assert_int_equal(r.code, AB_ERR_DENIED);
    assert_int_not_equal(access(path_of(w, ".outside/Application"), F_OK), 0);
    world_free(w);
}

static void a_fifo_does_not_hold_the_store(void **state)
{
    (void)state;
    world *w = begin();
    assert_bystander_is_read(w);
    assert_int_equal(mkfifo(path_of(w, FILE_NAME), 0666), 0);
    world_wait_fault(w, FILE_NAME, "regular");
    assert_bystander_is_read(w);
    world_free(w);
}

static void a_folder_that_is_no_namespace_is_a_fault(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, "Bad_Name/Application/guestbook.yaml", manifest("guestbook", "{}"));
    world_wait_fault(w, "Bad_Name", "namespace");
    assert_bystander_is_read(w);
    world_stop(w);
    world_forget(w);
    world_start(w);
    wait_changes(w, AB_STORE_UPDATED, BYSTANDER, 1);
    world_settle(w);
    assert_int_equal(count_changes(w, AB_STORE_LIST_DONE, NULL), 1);
    assert_int_equal(count_changes(w, AB_STORE_SYNCED, NULL), 0);
    person_renames(w, "Bad_Name", "good-name");
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, "Application/good-name/guestbook"), 1);
    world_free(w);
}

static void files_that_are_no_manifests_are_left_alone(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, "argocd/Application/README.md", "not: [yaml");
    person_writes(w, "argocd/Application/.hidden.yaml", "not: [yaml");
    person_writes(w, "argocd/Application/guestbook.yaml~", "not: [yaml");
    person_writes(w, "argocd/Application/empty.yaml", "# nothing yet\n");
    assert_bystander_is_read(w);
    assert_int_equal(w->fault_count, 0);
    world_free(w);
}

static void a_listing_that_failed_in_part_is_synced_only_when_it_is_whole(void **state)
{
    (void)state;
    world *w = world_new_place(&directory_place);
    person_writes(w, FILE_NAME, "kind: [");
    person_writes(w, "argocd/Application/bystander.yaml", manifest("bystander", "{}"));
    world_start(w);
    wait_changes(w, AB_STORE_UPDATED, BYSTANDER, 1);
    world_wait_fault(w, FILE_NAME, "line");
    world_settle(w);
    assert_int_equal(count_changes(w, AB_STORE_SYNCED, NULL), 0);
    person_writes(w, FILE_NAME, manifest("guestbook", "{}"));
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 1);
    world_free(w);
}

static void an_apply_heals_a_manifest_of_its_own_and_spares_one_that_is_not(void **state)
{
    (void)state;
    static const char object[] = "{\"kind\":\"Application\",\"metadata\":{\"name\":\"guestbook\","
                                 "\"namespace\":\"argocd\"},\"spec\":{\"a\":3}}";
    world *w = begin();
    person_writes(w, FILE_NAME, "kind: [");
    world_wait_fault(w, FILE_NAME, "line");
    result r = do_apply(w, object, NULL);
    assert_int_equal(r.code, AB_ERR_INVALID);
    char *text = text_of(w, FILE_NAME);
    assert_string_equal(text, "kind: [");
    free(text);
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    world_forget(w);
    person_writes(w, FILE_NAME, "kind: [");
    world_wait_fault(w, FILE_NAME, "line");
    r = do_get(w, KEY);
    assert_int_equal(r.code, AB_ERR_UNAVAILABLE);
    r = do_apply(w, object, NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    result_fini(&r);
    r = do_get(w, KEY);
    assert_int_equal(r.code, AB_ERR_OK);
    result_fini(&r);
    world_free(w);
}

static void a_broken_sidecar_is_a_fault_and_gives_no_second_uid(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    world_stop(w);
    world_forget(w);
    person_writes(w, "argocd/Application/.argobus/guestbook.json", "{\"uid\":");
    world_start(w);
    world_wait_fault(w, FILE_NAME, ".argobus/guestbook.json");
    assert_bystander_is_read(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 0);
    assert_int_equal(count_changes(w, AB_STORE_SYNCED, NULL), 0);
    char *text = text_of(w, "argocd/Application/.argobus/guestbook.json");
    assert_string_equal(text, "{\"uid\":");
    free(text);
    world_free(w);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The process's limit on file sizes stands for the full disk: a write ends in the middle. */
static void a_full_disk_fails_the_large_write_and_nothing_else(void **state)
{
    (void)state;
    world *w = begin();
    static char large[8192];
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    char *before = text_of(w, FILE_NAME);
    int n = snprintf(large, sizeof(large),
                     "{\"kind\":\"Application\",\"metadata\":{\"name\":\"guestbook\",\"namespace\":"
                     "\"argocd\"},\"spec\":{\"a\":\"");
    memset(large + n, 'x', 4096);
    (void)snprintf(large + n + 4096, sizeof(large) - (size_t)n - 4096, "\"}}");
    limit_file_size(2048);
    result failed = do_apply(w, large, NULL);
    result small = do_apply(w,
                            "{\"kind\":\"Application\",\"metadata\":{\"name\":\"small\","
                            "\"namespace\":\"argocd\"}}",
                            NULL);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(failed.code, AB_ERR_NOSPACE);
    assert_int_equal(small.code, AB_ERR_OK);
    result_fini(&small);
    char *after = text_of(w, FILE_NAME);
    assert_string_equal(before, after);
    result again = do_apply(w, large, NULL);
    assert_int_equal(again.code, AB_ERR_OK);
    result_fini(&again);
    free(before);
    free(after);
    world_free(w);
}

static void a_manifest_found_while_the_disk_is_full_is_read_when_there_is_room(void **state)
{
    (void)state;
    world *w = world_new_place(&directory_place);
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    limit_file_size(64);
    world_start(w);
    world_wait_fault(w, FILE_NAME, "cannot write");
    limit_file_size(RLIM_INFINITY);
    assert_true(faults_counted(w, "no_space") >= 1);
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 1);
    world_free(w);
}

static int ignore_size_signal(void **state)
{
    (void)state;
    return signal(SIGXFSZ, SIG_IGN) == SIG_ERR;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_truncated_manifest_is_a_fault_with_its_line),
        cmocka_unit_test(a_file_that_a_full_disk_left_empty_is_a_fault),
        cmocka_unit_test(what_was_missing_for_a_moment_is_not_gone_when_its_file_is_broken),
        cmocka_unit_test(duplicate_keys_are_a_fault),
        cmocka_unit_test(invalid_utf8_is_a_fault),
        cmocka_unit_test(binary_rubbish_is_a_fault),
        cmocka_unit_test(a_document_that_is_no_object_is_a_fault),
        cmocka_unit_test(deep_nesting_is_a_fault),
        cmocka_unit_test(a_bomb_of_aliases_is_a_fault),
        cmocka_unit_test(a_name_that_is_no_dns_name_is_a_fault),
        cmocka_unit_test(a_name_that_leads_elsewhere_is_a_fault),
        cmocka_unit_test(a_manifest_in_the_wrong_folder_is_a_fault),
        cmocka_unit_test(a_manifest_of_2_mib_is_read),
        cmocka_unit_test(a_manifest_past_the_limit_is_a_fault),
        cmocka_unit_test(a_good_document_before_a_broken_one_is_taken),
        cmocka_unit_test(two_files_for_one_object_is_a_fault_that_names_both),
        cmocka_unit_test(the_file_that_had_the_object_before_a_restart_keeps_it),
        cmocka_unit_test(a_broken_sidecar_in_a_file_of_two_harms_one),
        cmocka_unit_test(one_object_twice_in_a_file_is_a_fault),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(one_that_cannot_be_read_at_a_start_keeps_its_object),
        cmocka_unit_test(what_was_unreadable_is_read_when_the_rights_of_its_folder_are_right),
        cmocka_unit_test(a_link_is_not_written_through),
        cmocka_unit_test(a_fifo_does_not_hold_the_store),
        cmocka_unit_test(a_folder_that_is_no_namespace_is_a_fault),
        cmocka_unit_test(files_that_are_no_manifests_are_left_alone),
        cmocka_unit_test(a_listing_that_failed_in_part_is_synced_only_when_it_is_whole),
        cmocka_unit_test(an_apply_heals_a_manifest_of_its_own_and_spares_one_that_is_not),
        cmocka_unit_test(a_broken_sidecar_is_a_fault_and_gives_no_second_uid),
        cmocka_unit_test(a_full_disk_fails_the_large_write_and_nothing_else),
        cmocka_unit_test(a_manifest_found_while_the_disk_is_full_is_read_when_there_is_room),
    };
    return cmocka_run_group_tests(tests, ignore_size_signal, NULL);
}
