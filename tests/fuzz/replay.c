/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over the files of a corpus folder, or over one file, so that every compiler
 * replays what fuzzing found.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        return 1;
    }
    size_t room = 1u << 22;
    uint8_t *data = malloc(room);
    if (data == NULL) {
        fclose(f);
        return 1;
    }
    size_t size = fread(data, 1, room, f);
    int failed = ferror(f);
    fclose(f);
    /* An exact-size copy lets the address sanitizer see one byte too far. */
    uint8_t *exact = malloc(size == 0 ? 1 : size);
    if (exact != NULL) {
        for (size_t i = 0; i < size; i++)
            exact[i] = data[i];
        (void)LLVMFuzzerTestOneInput(exact, size);
    }
    failed |= exact == NULL;
    free(exact);
    free(data);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS-FOLDER|INPUT\n", argv[0]);
        return 2;
    }
    DIR *dir = opendir(argv[1]);
    if (dir == NULL && errno == ENOTDIR)
        return replay_file(argv[1]);
    if (dir == NULL) {
        perror(argv[1]);
        return 1;
    }
    int count = 0;
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char path[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
        if (replay_file(path) != 0) {
            closedir(dir);
            return 1;
        }
        count++;
    }
    closedir(dir);
    printf("%d inputs replayed\n", count);
    return count == 0; /* an empty corpus proves nothing */
}
