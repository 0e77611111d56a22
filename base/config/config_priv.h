/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the configuration share: a value per option, and how values are read and
 * written.
 */
#pragma once

#include "base/config/config.h"
#include "base/json/span.h"

typedef enum {
    AB_ORIGIN_UNSET,
    AB_ORIGIN_DEFAULT,
    AB_ORIGIN_FILE,
    AB_ORIGIN_ENV,
    AB_ORIGIN_SET,
} ab_origin;

/* LIST: entries without keys; MAP: keys and values; OBJECTS: the fields of one map. */
typedef struct {
    char *key;
    char *value;
} ab_pair;
typedef struct {
    ab_pair *pairs;
    size_t count;
} ab_group;

/* The value of one option; which members count is the option's kind. */
typedef struct {
    const ab_option *option;
    ab_origin origin;
    char *text;       /* STRING, ENUM, FILE, PATH; NULL = unset */
    int64_t number;   /* BOOL, INT, DURATION, SIZE */
    ab_group *groups; /* LIST and MAP: at most one; OBJECTS: one per map */
    size_t group_count;
} ab_value;

struct ab_config {
    char *file;   /* NULL = none */
    char *folder; /* what relative paths are relative to */
    ab_value *values;
    size_t count;
};

/** The value of the option `name`, NULL when there is no such option. */
ab_value *ab_config_find(const ab_config *c, ab_str name);
/** The name of the first option in the section `name`, "kafka.tls.ca" for "kafka.tls"; NULL when no
 * section has that name. */
const char *ab_config_first_of_section(const ab_config *c, ab_str name);
/**
 * The nearest known name as `: did you mean "…"?`, or where to look; NUL-terminated in `out`.
 * @param option_only  a section cannot stand here: where one is nearest, an option of it is named
 */
void ab_config_suggest(const ab_config *c, ab_str name, bool option_only, ab_buf *out);
/** The variable of an option, "ARGOBUS_KAFKA_TLS_CA" for "kafka.tls.ca". */
void ab_option_env_name(const char *name, ab_buf *out);
/** A path as it is to be opened: relative ones are relative to the file's folder. @return NULL when
 * out of memory; to be freed */
char *ab_config_resolve_path(const ab_config *c, ab_str text);

/* Every reader below leaves the value as it was on error, and names the option in the text. */

/** Read the text of an option as it stands in the environment, on the command line or in the table.
 */
AB_MUST_USE ab_err ab_value_from_text(const ab_config *c, ab_value *v, ab_str text, ab_error *err);
/** Read what the file says. */
AB_MUST_USE ab_err ab_value_from_json(const ab_config *c, ab_value *v, ab_spanv json,
                                      ab_error *err);
/** MAP: set one key. */
AB_MUST_USE ab_err ab_value_put_pair(ab_value *v, ab_str key, ab_str value, ab_error *err);
void ab_value_clear(ab_value *v);
bool ab_value_eq(const ab_value *a, const ab_value *b);
/** Add a pair to `g`; key NULL for a list entry. Takes key and value over, also on failure. A value
 * of NULL is how a failed copy arrives here. @return NOMEM */
AB_MUST_USE ab_err ab_group_add(ab_group *g, char *key, char *value);
void ab_group_fini(ab_group *g);

/** LIST: entries separated by commas. */
AB_MUST_USE ab_err ab_value_list_from_text(ab_value *v, ab_str text, ab_error *err);
/** Replace the groups; takes the array over. */
void ab_value_set_groups(ab_value *v, ab_group *groups, size_t count);
/** Replace them by one; takes over what `g` holds, also on failure. */
AB_MUST_USE ab_err ab_value_set_group(ab_value *v, ab_group *g, ab_error *err);

/** `name: wants a duration like "30s", got <what><given>` as a CONFIG error; secrets are not shown.
 */
ab_err ab_option_wrong(const ab_option *o, const char *what, ab_str given, ab_error *err);
/** Is the value of this key of a MAP not to be shown? */
bool ab_key_names_a_secret(const char *key);
/** True when `text` is one of "a|b|c". */
bool ab_choice_has(const char *choices, ab_str text);
/** "30s", "4MiB", "5", "true": a number of this kind as one would write it. */
void ab_option_put_number(const ab_option *o, int64_t number, ab_buf *out);
/** What the option wants, with an example: `a duration like "30s"`. */
void ab_option_put_wanted(const ab_option *o, ab_buf *out);

/** The three sources; each may be called with nothing to read. */
AB_MUST_USE ab_err ab_config_read_file(ab_config *c, ab_error *err);
AB_MUST_USE ab_err ab_config_read_env(ab_config *c, char *const *env, ab_error *err);
AB_MUST_USE ab_err ab_config_read_set(ab_config *c, const char *const *set, size_t count,
                                      ab_error *err);
