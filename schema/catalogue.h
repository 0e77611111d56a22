/* SPDX-License-Identifier: Apache-2.0
 *
 * The events that argobus knows: target, type, direction, modes, and how each travels. One row
 * each; names as argocd-agent has them on the wire; ours are marked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What an event is about; the value of the attribute dataschema. */
typedef enum {
    AB_TARGET_APPLICATION,
    AB_TARGET_APPPROJECT,
    AB_TARGET_REPOSITORY,
    AB_TARGET_GPGKEY,
    AB_TARGET_RESOURCE,
    AB_TARGET_REDIS,
    AB_TARGET_RESYNC,
    AB_TARGET_CLUSTER_CACHE_INFO,
    AB_TARGET_CONTAINER_LOG,
    AB_TARGET_TERMINAL,
    AB_TARGET_HEARTBEAT,
    AB_TARGET_EVENT_PROCESSED,
    AB_TARGET_LIVE, /* ours */
    AB_TARGET_COUNT
} ab_target;

typedef enum {
    AB_TYPE_PING,
    AB_TYPE_PONG,
    AB_TYPE_CREATE,
    AB_TYPE_DELETE,
    AB_TYPE_SPEC_UPDATE,
    AB_TYPE_STATUS_UPDATE,
    AB_TYPE_SET_OPERATION,
    AB_TYPE_TERMINATE_OPERATION,
    AB_TYPE_RELEASE, /* ours: a tombstone that deletes nothing: its writer gave it up */
    AB_TYPE_REFRESH, /* ours: argocd-agent sends an annotation in spec-update */
    AB_TYPE_PROCESSED,
    AB_TYPE_GET,
    AB_TYPE_RESPONSE,
    AB_TYPE_REDIS_REQUEST,
    AB_TYPE_REDIS_RESPONSE,
    AB_TYPE_SYNCED_LIST_REQUEST,
    AB_TYPE_SYNCED_RESOURCE,
    AB_TYPE_UPDATE_REQUEST,
    AB_TYPE_RESYNC_REQUEST,
    AB_TYPE_RESYNC,    /* ours: a step of a resync */
    AB_TYPE_INVENTORY, /* ours: a page of what is held */
    AB_TYPE_CLUSTER_CACHE_INFO_UPDATE,
    AB_TYPE_TERMINAL_REQUEST,
    AB_TYPE_ERROR,
    AB_TYPE_HTTP_GET,
    AB_TYPE_HTTP_POST,
    AB_TYPE_HTTP_PATCH,
    AB_TYPE_HTTP_DELETE,
    AB_TYPE_FRAME, /* ours: bytes of a session of live access */
    AB_TYPE_CLOSE, /* ours: such a session is over */
    AB_TYPE_COUNT
} ab_type;

typedef enum { AB_DOWN = 1, AB_UP = 2 } ab_direction; /* principal to agent; agent to principal */
typedef enum { AB_MANAGED = 1, AB_AUTONOMOUS = 2 } ab_mode_set;

/* How an event travels (design §2): the newest per key, each one in order, or at once or never. */
typedef enum { AB_CARRY_STATE, AB_CARRY_COMMAND, AB_CARRY_LIVE } ab_carry;

typedef struct {
    ab_target target;
    ab_type type;
    unsigned directions; /* ab_direction bits */
    unsigned down_modes; /* ab_mode_set bits for which it may go down */
    unsigned up_modes;   /* ab_mode_set bits for which it may go up */
    ab_carry carry;
} ab_catalogue_row;

/** Wire name of a target ("application"), borrowed, never NULL. Any thread; so all below. */
const char *ab_target_name(ab_target t);
/** Full wire name of a type ("io.argoproj.argocd-agent.event.create", "GET"). */
const char *ab_type_name(ab_type t);
/** @return false when `name` (of `len` bytes) is not a target */
bool ab_target_parse(const char *name, size_t len, ab_target *out);
/** @return false when `name` (of `len` bytes) is not a type */
bool ab_type_parse(const char *name, size_t len, ab_type *out);
/** The row of this pair, NULL when the pair means nothing. */
const ab_catalogue_row *ab_catalogue_find(ab_target target, ab_type type);
/** May this event go in this direction to or from an agent of this mode? */
bool ab_catalogue_allows(const ab_catalogue_row *row, ab_direction direction, ab_mode_set mode);
/** All rows, for tests and documentation. */
const ab_catalogue_row *ab_catalogue_rows(size_t *count);
