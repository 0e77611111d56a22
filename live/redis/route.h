/* SPDX-License-Identifier: Apache-2.0
 *
 * Which keys of redis belong to an agent. Argo CD's controller keeps what it finds in the cluster
 * of an Application under two families of keys, and publishes each change on a channel that is
 * named as the first:
 *
 *   app|managed-resources|NAME|VERSION
 *   app|resources-tree|NAME|VERSION      and further shards: ..|NAME|1|VERSION
 *
 * NAME is NAMESPACE_APP, and only APP in the namespace of argocd-server. VERSION ends with ".gz"
 * where values are compressed. Neither part of NAME can contain "_" or "|". All other keys are the
 * control plane's own. Pure functions; any thread.
 */
#pragma once

#include "base/core/buf.h"

/* Longer keys are not Argo CD's: two names of Kubernetes, with something around them. */
#define AB_REDIS_KEY_MAX 1024u

/* The parts of a key, borrowed from it. */
typedef struct {
    ab_str family; /* with the "|" behind it */
    ab_str name;   /* NAMESPACE_APP or APP */
    ab_str space;  /* absent: that of argocd-server */
    ab_str app;
    ab_str rest; /* from the "|" behind the name */
} ab_redis_key;

/* How the principal tells agents apart. Both functions return the agent, borrowed until the next
 * call; absent: there is none. */
typedef struct {
    /** Namespace mapping: an agent that is served. */
    ab_str (*agent_of_namespace)(void *arg, ab_str space);
    /** Destination mapping: whose Application is that? NULL: the mapping is by namespace.
     *  @param space  absent: that of argocd-server */
    ab_str (*agent_of_app)(void *arg, ab_str space, ab_str app);
    void *arg;
} ab_redis_agents;

/** Is it a key or channel of the two families? @param out  its parts */
bool ab_redis_key_parse(ab_str key, ab_redis_key *out);
/** Is it a pattern (PSUBSCRIBE) for channels of the two families, and for few others? */
bool ab_redis_route_is_pattern(ab_str pattern);
/** The agent that answers a key or channel; absent: the control plane's redis does. */
ab_str ab_redis_route_find(const ab_redis_agents *agents, ab_str key);
/** Append the name that a key of an agent has there: by namespace mapping its Applications are in
 *  the namespace of its own Argo CD. @param key  one that ab_redis_key_parse knows */
void ab_redis_route_put_key(const ab_redis_agents *agents, ab_str key, ab_buf *out);
/** Append the same as the path of a request: a slash and the key, percent-encoded. */
void ab_redis_route_put_path(const ab_redis_agents *agents, ab_str key, ab_buf *out);
/** Append the key that a path stands for. @return PARSE: not a path of the function above, or not
 *  a key of the two families; NOMEM or TOOBIG, which `out` has too */
AB_MUST_USE ab_err ab_redis_route_read_path(ab_str path, ab_buf *out);
