/* SPDX-License-Identifier: Apache-2.0
 *
 * An event as argocd-agent writes it: no id, no time, a fixed source, the target as `dataschema`
 * (ce_uri), every extension a ce_string. Pure; any thread.
 */
#pragma once

#include "base/json/object.h"
#include "event/event.h"
#include "schema/catalogue.h"

/* "<name>_<uid>" and "<name>_<uid>_<resourceVersion>", NUL included. */
#define AB_GO_RESOURCE_ID_MAX 384
#define AB_GO_EVENT_ID_MAX    448

/* Attribute source, which says nothing: of an agent of either mode, and of a principal. */
#define AB_GO_SOURCE_AGENT     "agent://agent-managed"
#define AB_GO_SOURCE_PRINCIPAL ""

typedef struct {
    ab_target target;
    ab_type type;
    char subject[AB_OBJECT_KEY_MAX]; /* "" = none; so below */
    char resourceid[AB_GO_RESOURCE_ID_MAX];
    char eventid[AB_GO_EVENT_ID_MAX];
    char principaluid[64];
    char sentat[40]; /* RFC 3339 */
    ab_str data;     /* JSON; absent: none */
} ab_go_event;

/** Append the stream's message of an event. The outcome is in the buffer's status. */
void ab_go_event_write(const ab_go_event *e, const char *source, ab_buf *out);
/** Append the stream's message that acknowledges `event`: with all its extensions. The outcome is
 * in the buffer's status. */
void ab_go_ack_write(const ab_event *event, const char *source, ab_buf *out);
