/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kubeconfig says. Loop thread.
 */
#pragma once

#include "store/kubernetes/access/access_file.h"

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
/** Append the names of the contexts of these files, a line each; one that several files define
 * comes once, one that cannot be printed not at all. @return CONFIG: a file cannot be read; NOMEM
 */
AB_MUST_USE ab_err ab_kubeconfig_contexts(const ab_kubeconfig_file *files, size_t count,
                                          ab_buf *names, ab_error *err);
void ab_kubeconfig_fini(ab_kubeconfig *k);
