/* SPDX-License-Identifier: Apache-2.0
 *
 * What a request to a Kubernetes API is about: its method, path and query become a verb, a group,
 * a version, a resource, a namespace, a name and a subresource, as the API server's own
 * RequestInfo reads them. What the policy decides is decided on this, so nothing may be read here
 * otherwise than there: what is ambiguous is INVALID, and the API server is asked for the path that
 * is put together from what was read (ab_resource_map_put_path), never for the one that came.
 *
 * Any thread. No I/O.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"

/* Bytes of a request's path, without and with its query. */
#define AB_RESOURCE_PATH_MAX   2048
#define AB_RESOURCE_TARGET_MAX (16 * 1024)
/* Parts of a path between slashes. */
#define AB_RESOURCE_PARTS_MAX 16

/* As in RBAC; CONNECT are the subresources that begin a conversation: exec, attach, portforward,
 * proxy. */
typedef enum {
    AB_RESOURCE_GET,
    AB_RESOURCE_LIST,
    AB_RESOURCE_WATCH,
    AB_RESOURCE_CREATE,
    AB_RESOURCE_UPDATE,
    AB_RESOURCE_PATCH,
    AB_RESOURCE_DELETE,
    AB_RESOURCE_DELETECOLLECTION,
    AB_RESOURCE_CONNECT,
} ab_resource_verb;

typedef enum {
    AB_RESOURCE_OBJECTS,   /* of a resource: all fields below count */
    AB_RESOURCE_DISCOVERY, /* which resources there are; /version, /openapi */
    AB_RESOURCE_HEALTH,    /* /healthz, /livez, /readyz */
} ab_resource_kind;

/* A request. The texts are decoded and borrow from `text`, so it is not to be copied. */
typedef struct {
    ab_resource_kind kind;
    ab_resource_verb verb;
    ab_str group; /* empty: the core group */
    ab_str version;
    ab_str resource;    /* "pods"; empty unless kind is OBJECTS, as all that follow */
    ab_str ns;          /* empty: none, or all. Of a namespace its name, as for RBAC */
    ab_str name;        /* empty: the collection */
    ab_str subresource; /* empty: none */
    bool follow;        /* a log that is followed */
    ab_str query;       /* borrowed from the target, without its question mark; may be empty */
    ab_str parts[AB_RESOURCE_PARTS_MAX];
    size_t part_count;
    char text[AB_RESOURCE_PATH_MAX];
} ab_resource_map;

/**
 * Read a request.
 *
 * @param method  "GET", "POST", "PUT", "PATCH", "DELETE"
 * @param target  path and query, as in the request's first line; borrowed by `out`
 * @return INVALID with what is wrong in `err`; NOMEM
 */
AB_MUST_USE ab_err ab_resource_map_read(ab_str method, ab_str target, ab_resource_map *out,
                                        ab_error *err);
/** Append the path, in its one canonical form, and the query as it came. */
void ab_resource_map_put_path(const ab_resource_map *m, ab_buf *out);
/** "get", "list", ..., as RBAC writes it. */
const char *ab_resource_map_verb(ab_resource_verb verb);
/** For log lines and refusals: "pods/log default/web", "deployments.apps", "/version". */
void ab_resource_map_put_object(const ab_resource_map *m, ab_buf *out);
/** True for this resource of the core group, whatever its subresource. */
bool ab_resource_map_is_core(const ab_resource_map *m, const char *resource);
/**
 * Split the prefix /agents/<name> off a target.
 *
 * @param agent  borrowed; absent when there is no such prefix
 * @param rest   borrowed; the target without it, "/" when nothing follows
 * @return INVALID when the name is not a DNS label
 */
AB_MUST_USE ab_err ab_resource_map_split_agent(ab_str target, ab_str *agent, ab_str *rest,
                                               ab_error *err);
