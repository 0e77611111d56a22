/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/store/places.h"

#include <assert.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    char path[PATH_MAX];
    char setting[PATH_MAX + 32];
} directory;

static void *directory_make(void)
{
    const char *tmp = getenv("TMPDIR");
    directory *d = calloc(1, sizeof(*d));
    assert(d != NULL);
    (void)snprintf(d->path, sizeof(d->path), "%s/argobus-store-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(d->path) == NULL) {
        free(d);
        return NULL;
    }
    (void)snprintf(d->setting, sizeof(d->setting), "store.directory.path=%s", d->path);
    return d;
}

static const char *directory_setting(void *place, size_t i)
{
    const directory *d = place;
    return i == 0 ? "store.kind=directory" : i == 1 ? d->setting : NULL;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void directory_destroy(void *place)
{
    directory *d = place;
    (void)nftw(d->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(d);
}

const char *directory_place_path(void *place)
{
    const directory *d = place;
    return d->path;
}

const store_place directory_place = {"directory", directory_make, directory_setting,
                                     directory_destroy};
const store_place *const store_places[] = {&directory_place, NULL};
