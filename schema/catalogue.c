/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/catalogue.h"

#include <assert.h>
#include <string.h>

static const char *const target_names[AB_TARGET_COUNT] = {
    [AB_TARGET_APPLICATION] = "application",
    [AB_TARGET_APPPROJECT] = "appproject",
    [AB_TARGET_REPOSITORY] = "repository",
    [AB_TARGET_GPGKEY] = "gpgkey",
    [AB_TARGET_RESOURCE] = "resource",
    [AB_TARGET_REDIS] = "redis",
    [AB_TARGET_RESYNC] = "resourceResync",
    [AB_TARGET_CLUSTER_CACHE_INFO] = "clusterCacheInfoUpdate",
    [AB_TARGET_CONTAINER_LOG] = "containerlog",
    [AB_TARGET_TERMINAL] = "terminal",
    [AB_TARGET_HEARTBEAT] = "heartbeat",
    [AB_TARGET_EVENT_PROCESSED] = "eventProcessed",
    [AB_TARGET_LIVE] = "live",
};

#define EVENT "io.argoproj.argocd-agent.event."

static const char *const type_names[AB_TYPE_COUNT] = {
    [AB_TYPE_PING] = EVENT "ping",
    [AB_TYPE_PONG] = EVENT "pong",
    [AB_TYPE_CREATE] = EVENT "create",
    [AB_TYPE_DELETE] = EVENT "delete",
    [AB_TYPE_SPEC_UPDATE] = EVENT "spec-update",
    [AB_TYPE_STATUS_UPDATE] = EVENT "status-update",
    [AB_TYPE_SET_OPERATION] = EVENT "set-operation",
    [AB_TYPE_TERMINATE_OPERATION] = EVENT "terminate-operation",
    [AB_TYPE_RELEASE] = EVENT "release",
    [AB_TYPE_REFRESH] = EVENT "refresh",
    [AB_TYPE_PROCESSED] = EVENT "processed",
    [AB_TYPE_GET] = EVENT "get",
    [AB_TYPE_RESPONSE] = EVENT "response",
    [AB_TYPE_REDIS_REQUEST] = EVENT "redis-request",
    [AB_TYPE_REDIS_RESPONSE] = EVENT "redis-response",
    [AB_TYPE_SYNCED_LIST_REQUEST] = EVENT "request-synced-resource-list",
    [AB_TYPE_SYNCED_RESOURCE] = EVENT "response-synced-resource",
    [AB_TYPE_UPDATE_REQUEST] = EVENT "request-update",
    [AB_TYPE_RESYNC_REQUEST] = EVENT "request-resource-resync",
    [AB_TYPE_RESYNC] = EVENT "resync",
    [AB_TYPE_INVENTORY] = EVENT "inventory",
    [AB_TYPE_CLUSTER_CACHE_INFO_UPDATE] = EVENT "cluster-cache-info-update",
    [AB_TYPE_TERMINAL_REQUEST] = EVENT "terminal-request",
    [AB_TYPE_ERROR] = EVENT "error",
    [AB_TYPE_HTTP_GET] = "GET",
    [AB_TYPE_HTTP_POST] = "POST",
    [AB_TYPE_HTTP_PATCH] = "PATCH",
    [AB_TYPE_HTTP_DELETE] = "DELETE",
    [AB_TYPE_FRAME] = EVENT "frame",
    [AB_TYPE_CLOSE] = EVENT "close",
};

#define MANAGED    AB_MANAGED
#define AUTONOMOUS AB_AUTONOMOUS
#define BOTH       (AB_MANAGED | AB_AUTONOMOUS)
#define NEVER      0

/* A row goes in the directions in which some mode may have it. */
#define ROW(target, type, down_modes, up_modes, carry)                                             \
    {                                                                                              \
        AB_TARGET_##target, AB_TYPE_##type,                                                        \
            ((down_modes) != NEVER ? AB_DOWN : 0) | ((up_modes) != NEVER ? AB_UP : 0), down_modes, \
            up_modes, AB_CARRY_##carry                                                             \
    }

/* target, type, modes down, modes up, carry */
static const ab_catalogue_row rows[] = {
    ROW(APPLICATION, CREATE, MANAGED, AUTONOMOUS, STATE),
    ROW(APPLICATION, SPEC_UPDATE, BOTH, AUTONOMOUS, STATE),
    ROW(APPLICATION, STATUS_UPDATE, NEVER, MANAGED, STATE),
    ROW(APPLICATION, DELETE, MANAGED, BOTH, STATE),
    ROW(APPLICATION, SET_OPERATION, BOTH, NEVER, COMMAND),
    ROW(APPLICATION, TERMINATE_OPERATION, BOTH, NEVER, COMMAND),
    ROW(APPLICATION, REFRESH, BOTH, NEVER, COMMAND), /* ours */
    ROW(APPLICATION, RELEASE, BOTH, BOTH, STATE),    /* ours */
    ROW(APPLICATION, ERROR, NEVER, BOTH, STATE),
    ROW(APPPROJECT, CREATE, MANAGED, AUTONOMOUS, STATE),
    ROW(APPPROJECT, SPEC_UPDATE, MANAGED, AUTONOMOUS, STATE),
    ROW(APPPROJECT, DELETE, MANAGED, AUTONOMOUS, STATE),
    ROW(APPPROJECT, RELEASE, BOTH, BOTH, STATE), /* ours */
    ROW(APPPROJECT, ERROR, NEVER, BOTH, STATE),  /* ours */
    ROW(REPOSITORY, CREATE, MANAGED, NEVER, STATE),
    ROW(REPOSITORY, SPEC_UPDATE, MANAGED, NEVER, STATE),
    ROW(REPOSITORY, DELETE, MANAGED, NEVER, STATE),
    ROW(REPOSITORY, RELEASE, BOTH, NEVER, STATE),  /* ours */
    ROW(REPOSITORY, ERROR, NEVER, MANAGED, STATE), /* ours */
    ROW(GPGKEY, CREATE, MANAGED, NEVER, STATE), ROW(GPGKEY, SPEC_UPDATE, MANAGED, NEVER, STATE),
    ROW(GPGKEY, DELETE, MANAGED, NEVER, STATE), ROW(GPGKEY, RELEASE, BOTH, NEVER, STATE), /* ours */
    ROW(GPGKEY, ERROR, NEVER, MANAGED, STATE),                                            /* ours */
    ROW(RESOURCE, HTTP_GET, BOTH, NEVER, LIVE), ROW(RESOURCE, HTTP_POST, BOTH, NEVER, LIVE),
    ROW(RESOURCE, HTTP_PATCH, BOTH, NEVER, LIVE), ROW(RESOURCE, HTTP_DELETE, BOTH, NEVER, LIVE),
    ROW(RESOURCE, RESPONSE, NEVER, BOTH, LIVE), ROW(CONTAINER_LOG, HTTP_GET, BOTH, NEVER, LIVE),
    ROW(TERMINAL, TERMINAL_REQUEST, MANAGED, NEVER, LIVE),
    ROW(REDIS, REDIS_REQUEST, BOTH, NEVER, LIVE), ROW(REDIS, REDIS_RESPONSE, NEVER, BOTH, LIVE),
    /* The holder of mirrors asks, the source of truth answers; after a restart of the source it is
     * the source that asks. Which side is which depends on the mode. */
    ROW(RESYNC, SYNCED_LIST_REQUEST, AUTONOMOUS, MANAGED, STATE),
    ROW(RESYNC, SYNCED_RESOURCE, MANAGED, AUTONOMOUS, STATE),
    ROW(RESYNC, UPDATE_REQUEST, AUTONOMOUS, MANAGED, STATE),
    ROW(RESYNC, RESYNC_REQUEST, MANAGED, AUTONOMOUS, STATE),
    ROW(RESYNC, RESYNC, BOTH, BOTH, STATE),    /* ours */
    ROW(RESYNC, INVENTORY, BOTH, BOTH, STATE), /* ours */
    ROW(CLUSTER_CACHE_INFO, CLUSTER_CACHE_INFO_UPDATE, NEVER, BOTH, LIVE),
    ROW(HEARTBEAT, PING, NEVER, BOTH, STATE), ROW(EVENT_PROCESSED, PROCESSED, BOTH, BOTH, COMMAND),
    ROW(LIVE, FRAME, BOTH, BOTH, LIVE), /* ours */
    ROW(LIVE, CLOSE, BOTH, BOTH, LIVE), /* ours */
};

const char *ab_target_name(ab_target t)
{
    assert((size_t)t < AB_TARGET_COUNT);
    return target_names[t];
}

const char *ab_type_name(ab_type t)
{
    assert((size_t)t < AB_TYPE_COUNT);
    return type_names[t];
}

/** Index of `name` in `names`, `count` when it is not there. */
static size_t find_name(const char *const *names, size_t count, const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return i;
    }
    return count;
}

bool ab_target_parse(const char *name, size_t len, ab_target *out)
{
    size_t i = find_name(target_names, AB_TARGET_COUNT, name, len);
    if (i == AB_TARGET_COUNT)
        return false;
    *out = (ab_target)i;
    return true;
}

bool ab_type_parse(const char *name, size_t len, ab_type *out)
{
    size_t i = find_name(type_names, AB_TYPE_COUNT, name, len);
    if (i == AB_TYPE_COUNT)
        return false;
    *out = (ab_type)i;
    return true;
}

const ab_catalogue_row *ab_catalogue_find(ab_target target, ab_type type)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].target == target && rows[i].type == type)
            return &rows[i];
    }
    return NULL;
}

bool ab_catalogue_allows(const ab_catalogue_row *row, ab_direction direction, ab_mode_set mode)
{
    unsigned modes = direction == AB_DOWN ? row->down_modes : row->up_modes;
    return (modes & mode) != 0;
}

const ab_catalogue_row *ab_catalogue_rows(size_t *count)
{
    *count = sizeof(rows) / sizeof(rows[0]);
    return rows;
}
