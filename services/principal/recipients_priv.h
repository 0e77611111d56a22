/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by recipients.c, which says when something is looked at, and recipient_entry.c, which
 * decides about the certificate of one agent.
 */
#pragma once

#include "base/core/file_stamp.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "base/observe/log_quota.h"
#include "services/principal/recipients.h"

struct entry {
    const char *agent;
    ab_link with_file;        /* in the list of those that have a file */
    char *file;               /* NULL: none is given */
    ab_file_stamp seen;       /* of it, when it was read */
    ab_seal_recipient *given; /* NULL: none, or it is revoked */
    char *text;               /* that the agent told last, trusted or not; NULL: none */
    ab_link unchecked;        /* in the list of those whose text has not been checked yet */
    ab_log_quota checks;      /* of what it told; each logs a line at most */
    int64_t held; /* what it told in vain since the last line about one that is refused */
    ab_seal_recipient *told;
    bool in_vain;  /* the text was refused when it was checked */
    ab_link stale; /* in the list of those to be judged again, or to be told of */
    bool due;      /* it is to be judged again */
    bool other_ca; /* by other authorities: until then `told` counts no more */
    bool switched; /* it was, and another one is in use since */
};

struct ab_recipients {
    ab_log *log;
    ab_metrics *metrics;
    const ab_clock *clock;
    char *ca_file; /* NULL: what agents tell cannot be trusted */
    ab_file_stamp ca_seen;
    ab_buf ca;
    ab_identity_rule *identity;
    ab_revoked_file revoked;
    const ab_revoked *blocked; /* beside that file; NULL: none */
    ab_map *entries;
    ab_link with_file; /* the next to look at comes first */
    ab_link unchecked; /* likewise: agents that have told more than is checked in a minute */
    ab_link stale;     /* likewise: after a change that may concern every agent */
};

/** The one that Secrets are sealed to, as it was judged last; NULL: none. */
const ab_seal_recipient *ab_recipient_in_use(const struct entry *entry);

/* The fingerprint of the one in use, as it was at some time; "": there was none. */
typedef struct {
    char text[2 * AB_FINGERPRINT_BYTES + 1];
} ab_recipient_used;

/** As it is now. */
ab_recipient_used ab_recipient_used_now(const struct entry *entry);
/** Log and show it if another one is in use than before. @return whether it is */
bool ab_recipient_note_change(const ab_recipients *r, const struct entry *entry,
                              const ab_recipient_used *before);
/** @return NULL, freed and logged, when the list of revoked certificates has it */
ab_seal_recipient *ab_recipient_unless_revoked(const ab_recipients *r, const char *agent,
                                               ab_seal_recipient *recipient);
/** May another one that the agent has told be checked in this minute? */
bool ab_recipient_may_check(const ab_recipients *r, struct entry *entry);
/** Check what the agent told last. @return whether another one is in use now */
bool ab_recipient_check_told(const ab_recipients *r, struct entry *entry);
/** Have it judged again, with others, or before a Secret is sealed to it. */
void ab_recipient_set_due(ab_recipients *r, struct entry *entry, bool other_ca);
/** Judge it again if that is due. */
void ab_recipient_judge_again(const ab_recipients *r, struct entry *entry);
