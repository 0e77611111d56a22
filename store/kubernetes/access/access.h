/* SPDX-License-Identifier: Apache-2.0
 *
 * Which API server, and who we are there: in a pod (service account: rotating token file, CA file,
 * KUBERNETES_SERVICE_HOST), or from a kubeconfig (context, CA, client certificate, token, token
 * file, exec plugin of client.authentication.k8s.io/v1). Loop thread.
 */
#pragma once

#include "base/config/config.h"
#include "base/core/clock.h"
#include "base/observe/log.h"
#include "net/http/client.h"

typedef struct ab_kube_access ab_kube_access;

/* Fields of a request that is passed on. */
#define AB_KUBE_FIELDS_MAX 40

/** Credentials, or why there are none. `bearer` is a token without "Bearer ", or NULL when a
 * certificate does or none is needed; borrowed for the upcall. */
typedef void (*ab_kube_token)(void *arg, ab_err code, const char *bearer, const ab_error *err);

/* The rows of the option table. */
#define AB_KUBE_ACCESS_OPTION_ROWS                                                                 \
    {.name = "store.kubernetes.kubeconfig",                                                        \
     .kind = AB_OPT_FILE,                                                                          \
     .help = "Kubeconfig file; unset: the variable KUBECONFIG, the pod's service account or "      \
             "~/.kube/config, whichever is there first."},                                         \
        {.name = "store.kubernetes.context",                                                       \
         .kind = AB_OPT_STRING,                                                                    \
         .help = "Context of the kubeconfig; unset: its current-context."},                        \
    {                                                                                              \
        .name = "store.kubernetes.server-name", .kind = AB_OPT_STRING,                             \
        .help = "Name that the API server's certificate must have; unset: the kubeconfig's "       \
                "tls-server-name, or the host of its URL.",                                        \
    }
extern const ab_options ab_kube_access_options;

/**
 * Read where the API server is. Order: store.kubernetes.kubeconfig, KUBECONFIG, the pod's service
 * account, ~/.kube/config.
 * @return CONFIG: says which file, context, cluster or user is wrong and what to do; NOMEM
 */
AB_MUST_USE ab_err ab_kube_access_new(uv_loop_t *loop, const ab_config *config, ab_log *log,
                                      const ab_clock *clock, ab_kube_access **out, ab_error *err);
/** Would store.kubernetes.kubeconfig, where it is set, do for ab_kube_access_new? Any thread.
 * @return CONFIG, as that says it; NOMEM */
AB_MUST_USE ab_err ab_kube_access_check(const ab_config *config, ab_error *err);
/** Append the names of the contexts in the kubeconfig that is read then, a line each; a pod's
 * service account has none. Any thread. @return CONFIG: it cannot be read; NOMEM */
AB_MUST_USE ab_err ab_kube_access_contexts(const ab_config *config, ab_buf *names, ab_error *err);
/** Ends a plugin under way without its upcall; NULL is allowed. Not from inside an upcall. */
void ab_kube_access_free(ab_kube_access *a);
/** "https://host:port[/path]" without a slash at the end; borrowed. */
const char *ab_kube_access_server(const ab_kube_access *a);
/** For ab_http_new; what it points to lives as long as the access, or until on_change. */
const ab_http_options *ab_kube_access_http(const ab_kube_access *a);
/** The token to use now: from memory, the token file (read again when it changed, at least every
 * minute), or the plugin. One upcall, later or at once. UNAVAILABLE (also a plugin that failed),
 * TIMEOUT: try again; DENIED: the plugin answered that it has no credentials. */
void ab_kube_access_token(ab_kube_access *a, ab_kube_token done, void *arg);
/** The server answered 401: the next token is fetched again, and certificates are looked at again
 * (once a minute otherwise, once a second at most). */
void ab_kube_access_rejected(ab_kube_access *a);
/** True once after certificate files or the plugin's certificate changed: connect again. */
bool ab_kube_access_changed(ab_kube_access *a);
