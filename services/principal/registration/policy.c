/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/registration/policy.h"

#include <string.h>

static const char *const modes[] = {"managed", "autonomous"};

static ab_err add_name(ab_registration_policy *p, const char *pattern, ab_error *err)
{
    ab_err e = ab_patterns_add(p->names, ab_str_of(pattern), err);
    if (e == AB_ERR_OK)
        return e;
    ab_error_prefix(err, "registration.names: %s", pattern);
    if (e == AB_ERR_NOMEM)
        return e;
    if (err != NULL)
        err->code = AB_ERR_CONFIG;
    return AB_ERR_CONFIG;
}

static ab_err read_names(const ab_config *c, ab_registration_policy *p, ab_error *err)
{
    size_t count = ab_config_count(c, "registration.names");
    p->names = ab_patterns_new();
    if (p->names == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = count == 0 ? add_name(p, "*", err) : AB_ERR_OK;
    for (size_t i = 0; e == AB_ERR_OK && i < count; i++)
        e = add_name(p, ab_config_item(c, "registration.names", i), err);
    return e;
}

static ab_err read_modes(const ab_config *c, ab_registration_policy *p, ab_error *err)
{
    p->mode = strcmp(ab_config_str(c, "registration.mode"), modes[1]) == 0 ? modes[1] : modes[0];
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
    return e == AB_ERR_OK ? read_modes(config, out, err) : e;
}

void ab_registration_policy_fini(ab_registration_policy *p)
{
    ab_patterns_free(p->names);
    p->names = NULL;
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
