/* SPDX-License-Identifier: Apache-2.0 */
#include "services/control_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "control.sock"

static bool fits(int length)
{
    return length > 0 && length < AB_CONTROL_PATH_MAX;
}

bool ab_control_path(size_t i, const char *program, char out[AB_CONTROL_PATH_MAX])
{
    const char *runtime = getenv("RUNTIME_DIRECTORY"); /* folders, with colons between them */
    const char *user = getenv("XDG_RUNTIME_DIR");
    size_t max = AB_CONTROL_PATH_MAX;
    switch (i) {
    case 0:
        return runtime != NULL && runtime[0] == '/' &&
               fits(snprintf(out, max, "%.*s/" NAME, (int)strcspn(runtime, ":"), runtime));
    case 1:
        return fits(snprintf(out, max, "/run/%s/" NAME, program));
    case 2:
        return user != NULL && user[0] == '/' &&
               fits(snprintf(out, max, "%s/%s/" NAME, user, program));
    case 3:
        return fits(snprintf(out, max, "/tmp/%s-%u/" NAME, program, (unsigned)geteuid()));
    default:
        return false;
    }
}

static void folder_of(const char *path, char out[AB_CONTROL_PATH_MAX])
{
    snprintf(out, AB_CONTROL_PATH_MAX, "%s", path);
    char *slash = strrchr(out, '/');
    if (slash != NULL)
        *slash = '\0';
}

bool ab_control_folder_is_safe(const char *path, unsigned owner)
{
    char folder[AB_CONTROL_PATH_MAX];
    struct stat st;
    folder_of(path, folder);
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) &&
           (st.st_uid == 0 || st.st_uid == owner) && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool ab_control_folder_is_anybodys(const char *path)
{
    char folder[AB_CONTROL_PATH_MAX], parent[AB_CONTROL_PATH_MAX];
    struct stat st;
    folder_of(path, folder);
    folder_of(folder, parent);
    return lstat(parent, &st) != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

bool ab_control_folder_claim(const char *path)
{
    char folder[AB_CONTROL_PATH_MAX];
    folder_of(path, folder);
    return (mkdir(folder, 0700) == 0 || errno == EEXIST) && access(folder, W_OK | X_OK) == 0 &&
           ab_control_folder_is_safe(path, (unsigned)geteuid());
}
