/* SPDX-License-Identifier: Apache-2.0
 *
 * A request to the API server as far as its credentials go: it waits for the token, is made with
 * it, and is made once more with a new token when the first is answered by 401. What fails before
 * the server is asked is told from the loop. Loop thread.
 */
#pragma once

#include "store/kubernetes/access/access.h"

#include <sys/queue.h>

/** The attempts of one client. */
typedef struct ab_kube_attempts ab_kube_attempts;

/** The first member of what is asked; only `asked` and `cancelled` are for its owner to read. */
typedef struct ab_kube_attempt {
    ab_kube_attempts *all;
    TAILQ_ENTRY(ab_kube_attempt) link;
    char *path;
    bool waits;  /* for the token, which cannot be called back */
    bool asked;  /* a first token was refused */
    bool failed; /* before the server was asked; `err` says why */
    bool cancelled;
    ab_error err;
} ab_kube_attempt;

typedef struct {
    /** Ask the server. @param url, authorization  borrowed for the call; `authorization` is a line
     * "Authorization: Bearer ...", NULL without a token
     *  @return any error, which `failed` is then told; `err` may be left empty */
    ab_err (*begin)(ab_kube_attempt *a, const char *url, const char *authorization, ab_error *err);
    /** The server could not be asked. `a` is freed when this returns; not called once cancelled. */
    void (*failed)(ab_kube_attempt *a, const ab_error *err);
    /** Free what the attempt is the first member of; it is in no list any more. */
    void (*free)(ab_kube_attempt *a);
} ab_kube_attempt_ops;

/* The fields of a request as "name: value". */
typedef struct {
    char *line[AB_KUBE_FIELDS_MAX + 3]; /* one more, authorization, and NULL at the end */
    size_t count;
} ab_kube_lines;

/** Append copies of fields, AB_KUBE_FIELDS_MAX + 1 in all. @return false when out of memory */
AB_MUST_USE bool ab_kube_lines_add(ab_kube_lines *l, const ab_http_field *fields, size_t count);
/** What ab_http_request takes. @param authorization  as for `begin` above; borrowed until the next
 * call */
const char *const *ab_kube_lines_with(ab_kube_lines *l, const char *authorization);
void ab_kube_lines_fini(ab_kube_lines *l);

/** @param access, ops  borrowed. @param out  owned by the caller: ab_kube_attempts_free
 *  @return NOMEM */
AB_MUST_USE ab_err ab_kube_attempts_new(uv_loop_t *loop, ab_kube_access *access,
                                        const ab_kube_attempt_ops *ops, ab_kube_attempts **out);
/** Frees every attempt, without telling it; what they asked must have ended. NULL is allowed. The
 * loop must be run afterwards. */
void ab_kube_attempts_free(ab_kube_attempts *all);

/** Put the attempt in the list. @param path  from the root of the server, copied
 *  @return NOMEM; it is in the list all the same */
AB_MUST_USE ab_err ab_kube_attempt_init(ab_kube_attempt *a, ab_kube_attempts *all,
                                        const char *path);
/** Get the token and begin; `begin` may run before this returns. */
void ab_kube_attempt_start(ab_kube_attempt *a);
/** Whether the answer is the first 401, after which the attempt starts again. Its request must have
 * ended. */
AB_MUST_USE bool ab_kube_attempt_again(ab_kube_attempt *a, int status);
/** Tell nobody any more. @return whether the server is being asked: the caller ends that and then
 * frees the attempt; otherwise it is freed later */
AB_MUST_USE bool ab_kube_attempt_cancel(ab_kube_attempt *a);
/** Take it out of the list and free it by `free`. */
void ab_kube_attempt_free(ab_kube_attempt *a);
