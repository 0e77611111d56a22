/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration from one table of options: YAML file < environment < --set. A row says everything
 * about an option; the table gives parsing, checking, --print-config and the reference page. Values
 * live in a tree of their dotted names, looked up by name with the type checked at load, so modules
 * need no shared struct.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/pattern.h"

typedef struct ab_config ab_config;

typedef enum {
    AB_OPT_STRING,
    AB_OPT_ENUM,     /* one of `choices` */
    AB_OPT_BOOL,     /* true, false */
    AB_OPT_INT,      /* min..max */
    AB_OPT_DURATION, /* "500ms", "30s", "5m", "2h"; value and bounds in milliseconds */
    AB_OPT_SIZE,     /* "4MiB", "64KiB", plain bytes; value and bounds in bytes */
    AB_OPT_LIST,     /* of strings; in the environment and --set separated by commas */
    AB_OPT_FILE,     /* as PATH; must be readable if set; "" = unset */
    AB_OPT_PATH,     /* relative ones are relative to the configuration file's folder, if any */
    AB_OPT_MAP,      /* free keys with string values: kafka.librdkafka; --set takes single keys */
    AB_OPT_OBJECTS,  /* list of maps with string values, each with a `name`; only in the file */
} ab_opt_kind;

typedef struct {
    const char *name; /* dotted, e.g. "kafka.tls.ca"; the variable is ARGOBUS_KAFKA_TLS_CA */
    ab_opt_kind kind;
    const char *deflt;   /* as one would write it; NULL = none; LIST/MAP/OBJECTS: NULL */
    const char *choices; /* ENUM: "a|b|c"; OBJECTS: the allowed keys */
    const char *paths;   /* OBJECTS: those of the keys that are as PATH; NULL: none */
    int64_t min, max;    /* INT, DURATION, SIZE; both 0 = no bounds */
    bool secret;         /* never printed */
    bool reloadable;     /* SIGHUP applies it */
    const char *help;    /* one sentence */
} ab_option;

/** A table of rows; several tables make up a program's options. */
typedef struct {
    const ab_option *rows;
    size_t count;
} ab_options;

/* Where values come from. */
typedef struct {
    const char *file;       /* NULL = none */
    char *const *env;       /* NULL-terminated "NAME=value"; NULL = none */
    const char *const *set; /* "key=value" each */
    size_t set_count;
} ab_config_sources;

/**
 * Load and check everything.
 *
 * @return CONFIG with file, line and what to do in `err`: unknown key (names the nearest known
 *         one), wrong type, out of bounds, missing or unreadable file; a variable ARGOBUS_… that is
 *         no option is an error too, unless Kubernetes made it for a service; NOMEM
 */
AB_MUST_USE ab_err ab_config_load(const ab_options *tables, size_t table_count,
                                  const ab_config_sources *sources, ab_config **out, ab_error *err);
void ab_config_free(ab_config *c);

/* Look-ups by full name. A name that is in no table, or of another kind, is a bug (asserted). */
/** STRING, ENUM, FILE, PATH: NUL-terminated, borrowed; NULL when unset. */
const char *ab_config_str(const ab_config *c, const char *name);
/** The same kinds: is it set, and to this? */
bool ab_config_is(const ab_config *c, const char *name, const char *text);
bool ab_config_bool(const ab_config *c, const char *name);
/** INT; DURATION in milliseconds; SIZE in bytes. */
int64_t ab_config_int(const ab_config *c, const char *name);
/** LIST: number of entries; MAP: of keys; OBJECTS: of maps. */
size_t ab_config_count(const ab_config *c, const char *name);
/** LIST: the i-th entry, borrowed. */
const char *ab_config_item(const ab_config *c, const char *name, size_t i);
/** LIST: its entries as patterns; without any an empty list, which matches nothing.
 *  @param out  owned by the caller: ab_patterns_free
 *  @return CONFIG with the option and what is wrong; NOMEM */
AB_MUST_USE ab_err ab_config_patterns(const ab_config *c, const char *name, ab_patterns **out,
                                      ab_error *err);
/** MAP: the i-th key and value, borrowed. */
void ab_config_pair(const ab_config *c, const char *name, size_t i, const char **key,
                    const char **value);
/** OBJECTS: field of the i-th map, NULL when unset. */
const char *ab_config_field(const ab_config *c, const char *name, size_t i, const char *field);
/** True when a source other than the default gave it. */
bool ab_config_is_set(const ab_config *c, const char *name);

/** YAML of everything in force, secrets (and MAP values whose key holds password, secret or key) as
 *  "<redacted>", the origin of each value as a comment. */
void ab_config_print(const ab_config *c, ab_buf *out);
/** The reference page: a Markdown table of the options. */
void ab_options_print_markdown(const ab_options *tables, size_t table_count, ab_buf *out);
/** Names (newline-separated) of options that differ between two configs and are not reloadable. */
void ab_config_restart_needed(const ab_config *before, const ab_config *after, ab_buf *out);
