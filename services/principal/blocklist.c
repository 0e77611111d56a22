/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/blocklist.h"

#include <stdio.h>
#include <string.h>

#define OPTION "grpc.auth.blocklist"
/* More than an object of the API server has. */
#define TEXT_MAX ((size_t)4 * 1024 * 1024)

static bool takes_certificates(const ab_config *config, const char *listen, const char *ca)
{
    return ab_config_str(config, listen) != NULL && ab_config_str(config, ca) != NULL;
}

bool ab_blocklist_has_clients(const ab_config *config)
{
    return takes_certificates(config, "live.resource.listen", "live.resource.tls.ca") ||
           takes_certificates(config, "fleet.listen", "fleet.tls.ca");
}

const char *ab_blocklist_name(const ab_config *config)
{
    const char *name = ab_config_str(config, OPTION);
    bool can_be = ab_config_is(config, "store.kind", "kubernetes");
    return can_be && strcmp(name, "none") != 0 ? name : NULL;
}

ab_err ab_blocklist_check(const ab_config *config, ab_error *err)
{
    const char *name = ab_blocklist_name(config);
    if (name == NULL || ab_str_is_dns_subdomain(ab_str_of(name)))
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_CONFIG,
                   OPTION ": \"%s\" is not the name of a ConfigMap (a-z, 0-9, - and .): name one, "
                          "or none",
                   name);
}

/* Asked about every object: most are told apart by their kind, without a look at the options. */
bool ab_blocklist_is(const ab_config *config, const ab_object *object)
{
    if (!ab_str_is(ab_object_kind(object), "ConfigMap"))
        return false;
    const char *name = ab_blocklist_name(config);
    return name != NULL && ab_str_is(ab_object_name(object), name) &&
           ab_str_is(ab_object_namespace(object), ab_config_str(config, "store.namespace"));
}

/* --- what it says --- */

/* What the keys say: those that are fingerprints, one per line, and what is wrong with the rest. */
typedef struct {
    ab_buf good;
    size_t bad_count;
    char bad[sizeof(((ab_blocklist *)NULL)->bad)];
} keys;

static void read_key(ab_spanv member, keys *out)
{
    uint8_t hash[AB_FINGERPRINT_BYTES];
    ab_str key = ab_span_plain_key(member);
    if (key.ptr != NULL && ab_fingerprint_parse(key, hash)) {
        ab_buf_put(&out->good, key);
        ab_buf_putc(&out->good, '\n');
        return;
    }
    if (out->bad_count++ == 0)
        (void)snprintf(out->bad, sizeof(out->bad), "%.*s",
                       AB_STR_ARG(key.ptr != NULL ? key : ab_span_raw_key(member)));
}

static void read_keys(const ab_object *config_map, keys *out)
{
    ab_spanv data = ab_object_field(config_map, "data");
    for (ab_spanv m = ab_span_first(data); ab_span_present(m); m = ab_span_next(m))
        read_key(m, out);
}

/* Once, not with every change of the others. */
static void note_bad(ab_blocklist *b, const keys *read)
{
    bool known = read->bad_count == b->bad_count && strcmp(read->bad, b->bad) == 0;
    b->bad_count = read->bad_count;
    memcpy(b->bad, read->bad, sizeof(b->bad));
    if (known || read->bad_count == 0)
        return;
    AB_WARN(b->log, AUTH,
            "keys of the blocklist block no certificate: each must be a SHA-256 fingerprint of 64 "
            "hex digits",
            AB_KV("key", b->bad), AB_KV("count", b->bad_count));
}

static bool replace(ab_blocklist *b, const keys *read)
{
    ab_revoked revoked;
    ab_error err = {0};
    ab_err e = ab_buf_status(&read->good);
    if (e == AB_ERR_OK)
        e = ab_revoked_parse(ab_buf_str(&read->good), &revoked, &err);
    if (e != AB_ERR_OK) {
        AB_ERROR(b->log, AUTH, "cannot read the blocklist; still using the previous one",
                 AB_KV("error", err.text[0] == '\0' ? ab_err_text(e) : err.text));
        return false;
    }
    if (ab_revoked_same(&revoked, &b->revoked)) {
        ab_revoked_fini(&revoked);
        return false;
    }
    ab_revoked_fini(&b->revoked);
    b->revoked = revoked;
    AB_INFO(b->log, AUTH, "blocklist changed", AB_KV("count", b->revoked.count));
    return true;
}

bool ab_blocklist_take(ab_blocklist *b, const ab_object *config_map)
{
    keys read = {0};
    ab_buf_init(&read.good, TEXT_MAX);
    if (config_map != NULL)
        read_keys(config_map, &read);
    note_bad(b, &read);
    bool changed = replace(b, &read);
    ab_buf_fini(&read.good);
    return changed;
}

bool ab_blocklist_has(const ab_blocklist *b, const uint8_t fingerprint[AB_FINGERPRINT_BYTES])
{
    return b->awaited || ab_revoked_has(&b->revoked, fingerprint);
}

static bool has(void *arg, const uint8_t fingerprint[AB_FINGERPRINT_BYTES])
{
    return ab_blocklist_has(arg, fingerprint);
}

ab_revoked_ask ab_blocklist_ask(ab_blocklist *b)
{
    return (ab_revoked_ask){has, b};
}

void ab_blocklist_fini(ab_blocklist *b)
{
    ab_revoked_fini(&b->revoked);
}
