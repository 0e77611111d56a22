/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the file of users, and as the list of revoked certificates: taken or refused with
 * the line that is wrong, and no hash is ever in what is said about it.
 */
#include "auth/passwords.h"
#include "base/core/text_lines.h"
#include "base/crypto/revoked.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_users(ab_str text)
{
    ab_passwords *p = NULL;
    ab_error err = {0};
    if (ab_passwords_parse(text, &p, &err) != AB_ERR_OK) {
        assert(p == NULL && strstr(err.text, "line ") != NULL && strstr(err.text, "$2") == NULL);
        return;
    }
    assert(strlen(ab_passwords_nobody(p)) == AB_BCRYPT_MAX - 1);
    ab_text_lines lines = {.rest = text};
    ab_str line;
    while (ab_text_lines_next(&lines, &line)) {
        const char *colon = line.len == 0 ? NULL : memchr(line.ptr, ':', line.len);
        if (colon == NULL)
            continue;
        const char *hash = ab_passwords_find(p, (ab_str){line.ptr, (size_t)(colon - line.ptr)});
        assert(hash == NULL || strlen(hash) == AB_BCRYPT_MAX - 1);
    }
    ab_passwords_free(p);
}

static void read_revoked(ab_str text)
{
    ab_revoked r = {0};
    ab_error err = {0};
    if (ab_revoked_parse(text, &r, &err) != AB_ERR_OK) {
        assert(r.count == 0 && strstr(err.text, "line ") != NULL);
        return;
    }
    for (size_t i = 0; i < r.count; i++)
        assert(ab_revoked_has(&r, r.hashes[i]));
    ab_revoked_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str text = {(const char *)data, size};
    read_users(text);
    read_revoked(text);
    return 0;
}
