/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/store/directory/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

const char *path_of(world *w, const char *path)
{
    static char text[2][PATH_MAX];
    static int turn;
    turn = !turn;
    (void)snprintf(text[turn], PATH_MAX, "%s/%s", directory_place_path(w->place), path);
    return text[turn];
}

static void make_folders(world *w, const char *path)
{
    char part[PATH_MAX];
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        assert_true(mkdir(path_of(w, part), 0777) == 0 || errno == EEXIST);
    }
}

void person_writes_bytes(world *w, const char *path, ab_str text)
{
    make_folders(w, path);
    FILE *f = fopen(path_of(w, path), "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.ptr, 1, text.len, f), text.len);
    assert_int_equal(fclose(f), 0);
}

void person_writes(world *w, const char *path, const char *text)
{
    person_writes_bytes(w, path, ab_str_of(text));
}

void person_replaces(world *w, const char *path, const char *text)
{
    char temp[PATH_MAX];
    (void)snprintf(temp, sizeof(temp), "%s.swp", path);
    person_writes(w, temp, text);
    person_renames(w, temp, path);
}

void person_removes(world *w, const char *path)
{
    assert_int_equal(unlink(path_of(w, path)), 0);
}

void person_renames(world *w, const char *from, const char *to)
{
    make_folders(w, to);
    const char *source = path_of(w, from);
    assert_int_equal(rename(source, path_of(w, to)), 0);
}

char *text_of(world *w, const char *path)
{
    FILE *f = fopen(path_of(w, path), "r");
    if (f == NULL)
        return NULL;
    ab_buf text;
    ab_buf_init(&text, 16 * 1024 * 1024);
    for (int c = fgetc(f); c != EOF; c = fgetc(f))
        ab_buf_putc(&text, (char)c);
    ab_buf_putc(&text, '\0');
    assert_int_equal(fclose(f), 0);
    return ab_buf_take(&text);
}

const char *manifest(const char *name, const char *spec)
{
    static char text[2][4096];
    static int turn;
    turn = !turn;
    (void)snprintf(text[turn], sizeof(text[turn]),
                   "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: %s\n"
                   "spec: %s\n",
                   name, spec);
    return text[turn];
}

void world_settle(world *w)
{
    result r = do_get(w, "Application/argocd/no-such-object");
    assert_int_equal(r.code, AB_ERR_NOTFOUND);
    result_fini(&r);
}
