/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/cluster/kubeconfig.h"

#include "store/kubernetes/access/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not given: nothing is set. */
static ab_err add(const ab_ctl *ctl, const char *flag, const char *option, ab_cluster_settings *out,
                  ab_error *err)
{
    const char *value = ab_ctl_value(ctl, flag);
    if (value == NULL)
        return AB_ERR_OK;
    size_t size = strlen(option) + strlen(value) + 2;
    char *text = malloc(size);
    if (text == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    snprintf(text, size, "%s=%s", option, value);
    out->set[out->count++] = text;
    return AB_ERR_OK;
}

static ab_err check_file(const char *path, ab_error *err)
{
    if (path == NULL || path[0] == '\0' || access(path, R_OK) == 0)
        return AB_ERR_OK;
    return ab_fail_errno(err, AB_ERR_CONFIG, errno, "--kubeconfig: cannot read %s", path);
}

ab_err ab_cluster_settings_init(const ab_ctl *ctl, ab_cluster_settings *out, ab_error *err)
{
    *out = (ab_cluster_settings){0};
    ab_err e = check_file(ab_ctl_value(ctl, "kubeconfig"), err);
    if (e == AB_ERR_OK)
        e = add(ctl, "kubeconfig", "store.kubernetes.kubeconfig", out, err);
    return e == AB_ERR_OK ? add(ctl, "context", "store.kubernetes.context", out, err) : e;
}

void ab_cluster_settings_fini(ab_cluster_settings *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->set[i]);
    *s = (ab_cluster_settings){0};
}

ab_err ab_cluster_config(const ab_ctl *ctl, ab_config **out, ab_error *err)
{
    ab_cluster_settings s;
    ab_err e = ab_cluster_settings_init(ctl, &s, err);
    const ab_config_sources sources = {.set = (const char *const *)s.set, .set_count = s.count};
    if (e == AB_ERR_OK)
        e = ab_config_load(&ab_kube_access_options, 1, &sources, out, err);
    ab_cluster_settings_fini(&s);
    return e;
}

/* @return "store.kubernetes.kubeconfig=PATH", the caller's to free; NULL: out of memory */
static char *kubeconfig_setting(const char *path)
{
    char *text = NULL;
    const char *home = strncmp(path, "~/", 2) == 0 ? getenv("HOME") : NULL;
    int len = asprintf(&text, "store.kubernetes.kubeconfig=%s%s", home == NULL ? "" : home,
                       home == NULL ? path : path + 1);
    return len < 0 ? NULL : text;
}

void ab_cluster_put_contexts(const char *kubeconfig, ab_buf *out)
{
    ab_config *config = NULL;
    char *setting = kubeconfig == NULL ? NULL : kubeconfig_setting(kubeconfig);
    const char *set[] = {setting};
    const ab_config_sources sources = {.set = set, .set_count = setting == NULL ? 0 : 1};
    ab_err e = ab_config_load(&ab_kube_access_options, 1, &sources, &config, NULL);
    if (e == AB_ERR_OK && ab_kube_access_contexts(config, out, NULL) != AB_ERR_OK)
        ab_buf_clear(out);
    ab_config_free(config);
    free(setting);
}
