/* SPDX-License-Identifier: Apache-2.0 */
#include "base/config/config.h"

ab_err ab_config_patterns(const ab_config *c, const char *name, ab_patterns **out, ab_error *err)
{
    ab_patterns *p = ab_patterns_new();
    ab_err e = p == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory for patterns") : AB_ERR_OK;
    for (size_t i = 0; e == AB_ERR_OK && i < ab_config_count(c, name); i++)
        e = ab_patterns_add(p, ab_str_of(ab_config_item(c, name, i)), err);
    if (e == AB_ERR_OK) {
        *out = p;
        return AB_ERR_OK;
    }
    ab_patterns_free(p);
    ab_error_prefix(err, "%s", name);
    if (e == AB_ERR_NOMEM)
        return e;
    if (err != NULL)
        err->code = AB_ERR_CONFIG;
    return AB_ERR_CONFIG;
}
