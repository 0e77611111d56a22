/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of options: the variable that goes with one, and the one that was probably meant.
 */
#include "base/config/config_priv.h"
#include "base/core/edit_distance.h"

#include <ctype.h>
#include <string.h>

ab_value *ab_config_find(const ab_config *c, ab_str name)
{
    for (size_t i = 0; i < c->count; i++) {
        if (ab_str_is(name, c->values[i].option->name))
            return &c->values[i];
    }
    return NULL;
}

void ab_option_env_name(const char *name, ab_buf *out)
{
    ab_buf_puts(out, "ARGOBUS_");
    for (; *name != '\0'; name++) {
        bool joint = *name == '.' || *name == '-';
        ab_buf_putc(out, joint ? '_' : (char)toupper((unsigned char)*name));
    }
}

/* The part after the last dot. */
static ab_str last_part(ab_str name)
{
    const char *dot = name.len == 0 ? NULL : memrchr(name.ptr, '.', name.len);
    if (dot == NULL)
        return name;
    return (ab_str){dot + 1, (size_t)(name.ptr + name.len - dot - 1)};
}

/* The section that it is in; empty when it is in none. */
static ab_str section_of(ab_str name)
{
    size_t last = last_part(name).len;
    return last == name.len ? AB_STR("") : (ab_str){name.ptr, name.len - last - 1};
}

/* How far a known name is from what was written; an option in the wrong section is near too. */
static size_t name_distance(ab_str written, ab_str known)
{
    size_t whole = ab_edit_distance(written, known);
    bool moved = ab_str_eq(last_part(written), last_part(known));
    return moved && whole > 2 ? 2 : whole;
}

/* Of options and of sections. */
static ab_str nearest(const ab_config *c, ab_str name, size_t *distance)
{
    ab_str best = AB_STR_NONE;
    for (size_t i = 0; i < c->count; i++) {
        ab_str known = ab_str_of(c->values[i].option->name);
        for (; known.len > 0; known = section_of(known)) {
            size_t d = name_distance(name, known);
            if (best.ptr == NULL || d < *distance) {
                best = known;
                *distance = d;
            }
        }
    }
    return best;
}

const char *ab_config_first_of_section(const ab_config *c, ab_str name)
{
    for (size_t i = 0; i < c->count; i++) {
        const char *known = c->values[i].option->name;
        if (strlen(known) > name.len && strncmp(known, name.ptr, name.len) == 0 &&
            known[name.len] == '.')
            return known;
    }
    return NULL;
}

void ab_config_suggest(const ab_config *c, ab_str name, bool option_only, ab_buf *out)
{
    size_t distance = 0;
    ab_str best = nearest(c, name, &distance);
    bool near = best.ptr != NULL && distance <= 2 + name.len / 4;
    const char *in_section = near && option_only ? ab_config_first_of_section(c, best) : NULL;
    if (in_section != NULL)
        ab_buf_printf(out, ": did you mean an option of the section \"%.*s\", like \"%s\"?",
                      AB_STR_ARG(best), in_section);
    else if (near)
        ab_buf_printf(out, ": did you mean \"%.*s\"?", AB_STR_ARG(best));
    else
        ab_buf_puts(out, ": --print-options lists what there is");
}
