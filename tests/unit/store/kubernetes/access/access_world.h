/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder of files, a clock and the access to an API server that was made of them.
 */
#pragma once

#include "net/http/https_server.h"
#include "store/kubernetes/access/access_priv.h"
#include "tests/unit/base/crypto/made_cert.h"

#define API    "client.authentication.k8s.io/v1"
#define DAY_US (24LL * 3600 * 1000000)

/* Two contexts, "a" and "b". */
#define HEAD                                                                                       \
    "current-context: a\n"                                                                         \
    "contexts: [{name: a, context: {cluster: c, user: u}}, {name: b, context: {cluster: d, user: " \
    "v}}]\n"

typedef struct {
    char *folder;
    char paths[8][96]; /* given out in turn */
    size_t path_count;
    uv_loop_t loop;
    int64_t mono_ms, wall_us;
    ab_clock clock;
    ab_log *log;
    ab_config *config;
    ab_kube_places places;
    ab_kube_access *access;
    ab_error err;
    /* what ab_kube_access_token said last, and how often */
    size_t answers;
    ab_err code;
    char token[64];
    char why[AB_ERROR_TEXT_MAX];
} world;

world *begin(void);
/** Also waits until the loop has nothing left. */
void end(world *w);
/** A path in the folder, valid for the next seven calls. */
const char *in(world *w, const char *name);
/** As a kubelet: a new file in the place of the old one. */
void put(world *w, const char *name, const char *text);
void get(world *w, const char *name, ab_buf *out);
/** The file "kubeconfig": members of the cluster and of the user of context "a". */
void put_kubeconfig(world *w, const char *cluster, const char *user);

/** `set` as for --set. */
ab_err open_access(world *w, const char *const *set, size_t count);
ab_err open_kubeconfig(world *w);
void must_open(world *w);
/** Start an API server in the test's own loop, and open access to it with the token "first" from
 * the file "token". @return the server, the caller's */
ab_https_server *must_serve(world *w,
                            void (*on_request)(void *arg, ab_https_request *request,
                                               const ab_https_info *info),
                            void *arg);
void close_access(world *w);

/** How often the log has these words. */
size_t logged(world *w, const char *words);
/** The upcall that counts in `answers`. */
void on_token(void *arg, ab_err code, const char *bearer, const ab_error *err);
/** Runs the loop until there are so many answers. Ends by itself: a plugin has 30 s. */
void wait_answers(world *w, size_t count);
/** Ask for the token and wait for it. */
void ask(world *w);
void assert_token(world *w, const char *token);
/** Nothing that says "hunter2" is said. */
void assert_no_token(world *w, ab_err code, const char *words);

made_cert make_client(int64_t until_s);
/** This is the client certificate in force. */
bool uses(world *w, const made_cert *m);
