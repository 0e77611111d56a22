/* SPDX-License-Identifier: Apache-2.0
 *
 * A random history: the world that it happens in, and what must be remembered of it.
 */
#pragma once

#include "world.h"

#define NAMES        3
#define REQUESTS_MAX 2048

/* One thing asked for at the hub; its number is in .operation.n or in the refresh annotation. */
struct request {
    int app;
    bool standing;  /* still on the hub's object, as the user put it */
    bool withdrawn; /* by the user: replaced, or its object deleted */
    int executed;
    char executed_on[24]; /* uid of the local object */
    bool refused;
    bool restored; /* it stands in a backup that came back: it may be asked for again, or not */
};

struct model {
    world w;
    uint64_t seed;
    uint64_t random;
    size_t actions; /* how many of them the lot falls among */
    int counter;    /* of specs, states and requests; rises */
    bool quiet;     /* nobody changes anything any more */
    struct request requests[REQUESTS_MAX];
    size_t sent_count;
    int sent[REQUESTS_MAX]; /* the specs that were sent, in order */
    size_t written[NAMES];  /* which of them stands at the agent, at the earliest */
    char hub_uid[NAMES][24];
    uint64_t newest_status[NAMES][2];
    ab_map *backup;           /* of the hub's store */
    char lost_uid[NAMES][24]; /* of what the hub lost, and nobody deleted; "" = nothing */
    bool ended[NAMES];        /* its end was said last, before anything of it was lost */
    bool restored[NAMES];     /* from a backup: what was deleted may be there again, uid and all */
    bool confirmed;           /* the operator wants it deleted */
    bool forgot[NAMES];       /* which labels there were the hub's is not known at the agent */
    int unmanaged[NAMES];     /* spec of the object that a local user made, -1 = none */
};

extern struct model m;

/** Show the stores and fail. */
void model_broken(const char *what);
/** The Application at either end; NULL when it is not there. */
ab_object *model_hub(int app);
ab_object *model_local(int app);
int model_app_of(const ab_object *o);
bool model_is_managed(const ab_object *o);
bool model_is_deleting(const ab_object *o);
/** Number of the request that stands on the object; -1 when none does. */
int model_operation_of(const ab_object *o);
int model_refresh_of(const ab_object *o);
/** Does the principal hold deletions back? */
bool model_is_held(void);

/** The world is at rest: both ends must agree, and nothing may be left over. */
void model_check(void);
