/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/registration/policy.h"

#include "schema/labels.h"

#include <string.h>

static const char *const modes[] = {"managed", "autonomous"};

static ab_err read_names(const ab_config *c, ab_registration_policy *p, ab_error *err)
{
    ab_err e = ab_config_patterns(c, "registration.names", &p->names, err);
    bool all = ab_config_count(c, "registration.names") == 0;
    return e == AB_ERR_OK && all ? ab_patterns_add(p->names, AB_STR("*"), err) : e;
}

static ab_err read_modes(const ab_config *c, ab_registration_policy *p, ab_error *err)
{
    p->mode = ab_config_is(c, "registration.mode", modes[1]) ? modes[1] : modes[0];
    for (size_t i = 0; i < ab_config_count(c, "registration.modes"); i++) {
        const char *mode = ab_config_item(c, "registration.modes", i);
        size_t which = strcmp(mode, modes[1]) == 0;
        if (strcmp(mode, modes[which]) != 0)
            return ab_fail(err, AB_ERR_CONFIG,
                           "registration.modes: \"%s\" is neither \"managed\" nor \"autonomous\"",
                           mode);
        p->claims[which] = modes[which];
    }
    return AB_ERR_OK;
}

ab_err ab_registration_policy_init(const ab_config *config, ab_registration_policy *out,
                                   ab_error *err)
{
    ab_err e = read_names(config, out, err);
    if (e == AB_ERR_OK)
        e = ab_config_patterns(config, "registration.labels", &out->labels, err);
    return e == AB_ERR_OK ? read_modes(config, out, err) : e;
}

void ab_registration_policy_fini(ab_registration_policy *p)
{
    ab_patterns_free(p->names);
    ab_patterns_free(p->labels);
    p->names = NULL;
    p->labels = NULL;
}

bool ab_registration_policy_allows(const ab_registration_policy *p, const char *agent)
{
    return ab_str_is_dns_label(ab_str_of(agent)) && ab_patterns_match(p->names, ab_str_of(agent));
}

const char *ab_registration_policy_mode(const ab_registration_policy *p, const char *claimed)
{
    for (size_t i = 0; claimed != NULL && i < 2; i++)
        if (p->claims[i] != NULL && strcmp(claimed, p->claims[i]) == 0)
            return p->claims[i];
    return p->mode;
}

static bool ends_with(ab_str text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

/* Any domain below these, too. */
static bool is_reserved(ab_str key)
{
    static const char *const domains[] = {"argobus.io", "argoproj.io", "argoproj-labs.io",
                                          "kubernetes.io", "k8s.io"};
    const char *slash = memchr(key.ptr, '/', key.len);
    ab_str domain = {key.ptr, slash == NULL ? 0 : (size_t)(slash - key.ptr)};
    for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++)
        if (ends_with(domain, domains[i]))
            return true;
    return false;
}

bool ab_registration_policy_takes(const ab_registration_policy *p, ab_str key, ab_str value)
{
    return ab_label_is_valid(key, value) && !is_reserved(key) && ab_patterns_match(p->labels, key);
}
