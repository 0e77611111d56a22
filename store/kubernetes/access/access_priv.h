/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of store/kubernetes/access/access.c: what a kubeconfig says, the files that it names,
 * the certificates in them and the plugin that it runs. Loop thread.
 */
#pragma once

#include "base/core/file.h"
#include "store/kubernetes/access/access.h"

/* Of a kubeconfig, a certificate file, a token file, and what a plugin prints. */
#define AB_KUBE_FILE_MAX (1024u * 1024)

/* ----- access_file.c: texts that may live in files that change ----- */

/* A certificate, key or token: given in place, or by a file that is read again when it changed. */
typedef struct {
    char *path;          /* NULL: given in place */
    char *text;          /* NULL: there is none, or its file was not read yet */
    ab_file_stamp stamp; /* of the file when it was read */
} ab_kube_text;

void ab_kube_text_fini(ab_kube_text *t);
/** There is one, in place or in a file. */
bool ab_kube_text_given(const ab_kube_text *t);
/** Absent when there is none. */
ab_str ab_kube_text_str(const ab_kube_text *t);
/** The file is not the one that was read. Also true for one that cannot be looked at. */
bool ab_kube_text_changed(const ab_kube_text *t);
/** A copy with the file as it is now. @return IO, NOTFOUND, DENIED, INVALID (no regular file, NUL
 * byte), TOOBIG, NOMEM; with the path in `err` */
AB_MUST_USE ab_err ab_kube_text_load(const ab_kube_text *from, ab_kube_text *out, ab_error *err);
/** Free a secret that is text; NULL is allowed. */
void ab_kube_wipe(char *secret);

/* ----- kubeconfig.c: what a kubeconfig says ----- */

/* A client-go credential plugin. Every text is owned. */
typedef struct {
    char *command;        /* absolute, or looked up in PATH; NULL: there is no plugin */
    char **args;          /* NULL-terminated, the command first */
    char **env;           /* NULL-terminated "NAME=value"; added to our own */
    char *api;            /* "client.authentication.k8s.io/v1" */
    char *hint;           /* how to install it; NULL: not said */
    bool cluster;         /* tell it about the cluster */
    char *cluster_config; /* JSON of the cluster's extension for plugins; NULL: none */
} ab_kube_plugin;

/* One context. Every text is owned. */
typedef struct {
    char *server;
    char *server_name; /* to verify instead of the server's host; NULL: that */
    char *proxy;       /* URL; NULL: as the environment says */
    ab_kube_text ca;
    ab_kube_text cert;
    ab_kube_text key;
    ab_kube_text token;
    ab_kube_plugin plugin;
} ab_kubeconfig;

/* One file, perhaps of several that are read as one. */
typedef struct {
    const char *path; /* for texts; relative paths in it start at its folder */
    ab_str text;
} ab_kubeconfig_file;

/**
 * Take one context out of kubeconfig files. What several of them define, the first one does. Opens
 * no file.
 * @param context  NULL: the current one
 * @return CONFIG: file, context, cluster or user, what is wrong and what to do; NOMEM
 */
AB_MUST_USE ab_err ab_kubeconfig_read(const ab_kubeconfig_file *files, size_t count,
                                      const char *context, ab_kubeconfig *out, ab_error *err);
void ab_kubeconfig_fini(ab_kubeconfig *k);

/* ----- access_source.c: which files ----- */

/* Where to look. */
typedef struct {
    const char *kubeconfigs;     /* the variable KUBECONFIG; NULL: not set */
    const char *home;            /* NULL: none */
    const char *service_account; /* folder of a pod's token, ca.crt */
    const char *host, *port;     /* KUBERNETES_SERVICE_HOST, _PORT; NULL: in no pod */
} ab_kube_places;

/** Fill `out` from the first place that has something. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_kube_find(const ab_kube_places *places, const ab_config *config,
                                ab_kubeconfig *out, ab_error *err);

/* ----- access_cert.c: are they usable ----- */

/** @return CONFIG: no certificate, a key that does not belong to it, an encrypted key; NOMEM
 *  @param until_s  when the certificate expires, seconds since 1970 */
AB_MUST_USE ab_err ab_kube_check_pair(ab_str cert, ab_str key, int64_t *until_s, ab_error *err);
/** @return CONFIG unless there is at least one certificate; NOMEM */
AB_MUST_USE ab_err ab_kube_check_ca(ab_str ca, ab_error *err);

/* ----- exec.c, exec_credential.c: the plugin ----- */

/* What a plugin gives. Every text is owned and wiped. */
typedef struct {
    char *token;      /* NULL: none */
    char *cert, *key; /* PEM; NULL: none */
    int64_t until_us; /* wall clock; INT64_MAX: not said */
} ab_kube_credential;

void ab_kube_credential_fini(ab_kube_credential *c);
/**
 * Read what a plugin printed. Errors never show it.
 * @param api  the version that was asked for
 * @return UNAVAILABLE: no ExecCredential of that version; DENIED: one without credentials; NOMEM
 */
AB_MUST_USE ab_err ab_kube_credential_read(ab_str json, const char *api, ab_kube_credential *out,
                                           ab_error *err);

typedef struct ab_kube_exec ab_kube_exec;

/** OK: `credential` is the upcall's, to take apart. Else as ab_kube_credential_read; TIMEOUT. */
typedef void (*ab_kube_exec_done)(void *arg, ab_err code, ab_kube_credential *credential,
                                  const ab_error *err);

/** Run the plugin, for `limit_ms` at most. `done` once, later. @return UNAVAILABLE: it cannot be
 * started; NOMEM */
AB_MUST_USE ab_err ab_kube_exec_start(uv_loop_t *loop, const ab_kubeconfig *config,
                                      uint64_t limit_ms, ab_kube_exec_done done, void *arg,
                                      ab_kube_exec **out, ab_error *err);
/** End it without its upcall; what it holds goes once the loop has closed the handles. */
void ab_kube_exec_cancel(ab_kube_exec *run);

/* ----- access.c ----- */

/** ab_kube_access_new with other places than the environment's, for tests. */
AB_MUST_USE ab_err ab_kube_access_new_at(const ab_kube_places *places, uv_loop_t *loop,
                                         const ab_config *config, ab_log *log,
                                         const ab_clock *clock, ab_kube_access **out,
                                         ab_error *err);
