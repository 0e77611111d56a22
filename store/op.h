/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation that was asked of a store, and lines of them: what every store keeps of one, and has
 * as the first member of its own. Loop thread.
 */
#pragma once

#include "store/store.h"

typedef enum {
    AB_VERB_APPLY,
    AB_VERB_STATUS,
    AB_VERB_REMOVE,
    AB_VERB_GET,
    AB_VERB_OWN, /* from here on a store has its own */
} ab_store_verb;

struct ab_store_op {
    ab_store_op *next; /* in its line */
    unsigned verb;     /* ab_store_verb */
    char key[AB_OBJECT_KEY_MAX];
    ab_str kind, ns, name; /* in `key`, which ends behind the name; absent when that is no key */
    ab_object *object;     /* APPLY */
    char *status;          /* STATUS */
    char *status_version;
    bool foreground;    /* REMOVE */
    char *want_version; /* the condition; NULL: any */
    char *want_uid;
    bool must_exist;
    bool must_not_exist;
    ab_store_done done; /* NULL: nobody asked */
    void *arg;
    ab_err code; /* not OK: it is refused, and `err` says why */
    ab_error err;
};

/**
 * A new operation.
 * @param size  of the store's own structure
 * @return NULL when out of memory, which `done` has been told
 */
ab_store_op *ab_store_op_new(size_t size, unsigned verb, ab_str key, ab_store_done done, void *arg);
/** Refuse it: set code and error. Format as printf. @return `code` */
ab_err ab_store_op_refuse(ab_store_op *op, ab_err code, const char *why);
/** Take over the text of a status, which must be an object. */
void ab_store_op_set_status(ab_store_op *op, ab_str status, ab_str version);
/** Take over the condition; NULL: none. */
void ab_store_op_set_condition(ab_store_op *op, const ab_store_condition *condition);
void ab_store_op_free(ab_store_op *op);

#define AB_STORE_SERVER_SET_COUNT 8
/* Members of metadata that only the server sets; ends with NULL. */
extern const char *const ab_store_server_set[AB_STORE_SERVER_SET_COUNT + 1];

/* First come, first served; zero-initialised: empty. */
typedef struct {
    ab_store_op *first;
    ab_store_op *last;
} ab_store_line;

void ab_store_line_append(ab_store_line *line, ab_store_op *op);
void ab_store_line_prepend(ab_store_line *line, ab_store_op *op);
/** @return the first, taken out; NULL when there is none */
ab_store_op *ab_store_line_pop(ab_store_line *line);
