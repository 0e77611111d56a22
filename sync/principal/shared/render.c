/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a shared object one agent gets: a Secret sealed to it.
 */
#include "sync/principal/shared/shared_priv.h"

#include "sync/kind/kind.h"
#include "sync/object/secret.h"

bool ab_principal_shared_is_in_clear(const struct peer *peer)
{
    const ab_principal_sealing *sealing = &peer->principal->env.sealing;
    return sealing->off ||
           (sealing->in_clear != NULL && sealing->in_clear(sealing->arg, peer->name));
}

/* The digest of what `hub`, sealed, will say in the clear. */
static ab_err context_of(const ab_object *hub, char out[AB_DIGEST_HEX], ab_error *err)
{
    ab_object *clear = NULL;
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_secret_sealed(hub, AB_STR_NONE, &text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(&text), &clear, err);
    if (e == AB_ERR_OK)
        e = ab_secret_context(clear, out);
    ab_object_unref(clear);
    ab_buf_fini(&text);
    return e;
}

static ab_err seal_bound(const struct peer *peer, const ab_object *hub,
                         const ab_seal_binding *binding, ab_buf *payload, ab_error *err)
{
    const ab_principal_sealing *sealing = &peer->principal->env.sealing;
    ab_buf content = ab_buf_secret_up_to(AB_SPAN_SIZE_MAX);
    ab_buf sealed = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_secret_content(hub, &content);
    if (e == AB_ERR_OK)
        e = sealing->seal(sealing->arg, peer->name, binding, ab_buf_str(&content), &sealed, err);
    if (e == AB_ERR_OK)
        e = ab_secret_sealed(hub, ab_buf_str(&sealed), payload);
    ab_buf_fini(&content);
    ab_buf_fini(&sealed);
    return e;
}

/* Payload and digest of a Secret, sealed to the agent. @return CLOSED while it has no certificate
 */
static ab_err seal(const struct peer *peer, const ab_object *hub, ab_buf *payload,
                   ab_digest *digest, ab_error *err)
{
    const ab_principal_sealing *sealing = &peer->principal->env.sealing;
    char version[AB_VERSION_TEXT];
    char context[AB_DIGEST_HEX];
    ab_str key = ab_str_of(ab_object_key(hub));
    const char *recipient =
        sealing->recipient == NULL ? NULL : sealing->recipient(sealing->arg, peer->name);
    ab_err e = recipient == NULL ? AB_ERR_CLOSED : ab_secret_sealed_digest(hub, recipient, digest);
    if (e != AB_ERR_OK || ab_writer_has(peer->writer, key, digest))
        return e;
    e = context_of(hub, context, err);
    if (e != AB_ERR_OK)
        return e;
    ab_version_format(ab_writer_reserve(peer->writer), version);
    const ab_seal_binding binding = {ab_str_of(peer->name), key, ab_str_of(version),
                                     ab_str_of(context)};
    return seal_bound(peer, hub, &binding, payload, err);
}

ab_err ab_principal_shared_render(const struct shared *s, const struct peer *peer,
                                  const ab_object *hub, ab_buf *payload, ab_digest *digest,
                                  ab_error *err)
{
    const ab_principal_env *env = &s->principal->env;
    if (s->kind->sealed && !ab_principal_shared_is_in_clear(peer))
        return seal(peer, hub, payload, digest, err);
    ab_err e = s->kind->render(hub, peer->name, env->destination_mapping, payload);
    return e == AB_ERR_OK ? ab_digest_of(ab_buf_str(payload), digest) : e;
}
