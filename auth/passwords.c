/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/passwords.h"

#include "base/core/text_lines.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>

#define COST_MIN  4
#define COST_MAX  16
#define COST_DEFT 10
/* Of "$2y$10$". */
#define PREFIX_LEN 7

struct ab_passwords {
    ab_map *hashes; /* user to NUL-terminated hash */
    int cost;       /* the highest */
    char nobody[AB_BCRYPT_MAX];
};

static void free_hash(void *hash)
{
    OPENSSL_cleanse(hash, AB_BCRYPT_MAX);
    free(hash);
}

void ab_passwords_free(ab_passwords *p)
{
    if (p == NULL)
        return;
    ab_map_free(p->hashes, free_hash);
    free(p);
}

static bool is_bcrypt_text(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            c != '.' && c != '/')
            return false;
    }
    return true;
}

/* The cost of a well-formed hash, 0 of anything else. */
static int cost_of(ab_str hash)
{
    if (hash.len != AB_BCRYPT_MAX - 1 || !ab_str_starts(hash, "$2") ||
        strchr("abxy", hash.ptr[2]) == NULL || hash.ptr[2] == '\0' || hash.ptr[3] != '$' ||
        hash.ptr[6] != '$')
        return 0;
    uint64_t cost = 0;
    ab_str tail = {hash.ptr + PREFIX_LEN, hash.len - PREFIX_LEN};
    if (ab_str_to_u64((ab_str){hash.ptr + 4, 2}, &cost) != AB_ERR_OK || !is_bcrypt_text(tail))
        return 0;
    return cost >= COST_MIN && cost <= COST_MAX ? (int)cost : 0;
}

static ab_err add_user(ab_passwords *p, ab_str user, ab_str hash, size_t number, ab_error *err)
{
    int cost = cost_of(hash);
    if (!ab_str_is_dns_label(user))
        return ab_fail(err, AB_ERR_PARSE, "line %zu: the user must be a DNS label", number);
    if (cost == 0)
        return ab_fail(err, AB_ERR_PARSE, "line %zu: expected a bcrypt hash of cost %d to %d",
                       number, COST_MIN, COST_MAX);
    if (ab_map_find(p->hashes, user) != NULL)
        return ab_fail(err, AB_ERR_PARSE, "line %zu: %.*s is given twice", number,
                       AB_STR_ARG(user));
    char *copy = ab_str_dup(hash);
    ab_err e = copy == NULL ? AB_ERR_NOMEM : ab_map_put(p->hashes, user, copy, NULL);
    if (e != AB_ERR_OK) {
        free(copy);
        return ab_fail(err, e, "out of memory for the users");
    }
    p->cost = cost > p->cost ? cost : p->cost;
    return AB_ERR_OK;
}

static ab_err parse_lines(ab_passwords *p, ab_str text, ab_error *err)
{
    ab_text_lines lines = {.rest = text};
    ab_str line;
    while (ab_text_lines_next(&lines, &line)) {
        if (line.len == 0 || line.ptr[0] == '#' || ab_str_starts(line, "//"))
            continue;
        ab_str hash = line;
        ab_str user = ab_str_cut(&hash, ':');
        if (hash.ptr == NULL)
            return ab_fail(err, AB_ERR_PARSE, "line %zu: expected user:hash", lines.number);
        ab_err e = add_user(p, user, hash, lines.number, err);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

ab_err ab_passwords_parse(ab_str text, ab_passwords **out, ab_error *err)
{
    ab_passwords *p = calloc(1, sizeof(*p));
    if (p == NULL || (p->hashes = ab_map_new()) == NULL) {
        free(p);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the users");
    }
    ab_err e = parse_lines(p, text, err);
    if (e != AB_ERR_OK) {
        ab_passwords_free(p);
        return e;
    }
    (void)snprintf(p->nobody, sizeof(p->nobody), "$2b$%02d$%s%s",
                   p->cost == 0 ? COST_DEFT : p->cost, "aaaaaaaaaaaaaaaaaaaaa.",
                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    *out = p;
    return AB_ERR_OK;
}

const char *ab_passwords_find(const ab_passwords *p, ab_str user)
{
    return ab_map_find(p->hashes, user);
}

const char *ab_passwords_nobody(const ab_passwords *p)
{
    return p->nobody;
}

ab_err ab_password_check(const char *password, const char *hash)
{
    struct crypt_data *data = calloc(1, sizeof(*data));
    if (data == NULL)
        return AB_ERR_NOMEM;
    const char *made = crypt_r(password, hash, data);
    /* A failure is told by a text of another length that begins with an asterisk. */
    bool same = made != NULL && strlen(made) == AB_BCRYPT_MAX - 1 &&
                CRYPTO_memcmp(made, hash, AB_BCRYPT_MAX - 1) == 0;
    OPENSSL_cleanse(data, sizeof(*data));
    free(data);
    return same ? AB_ERR_OK : AB_ERR_DENIED;
}
