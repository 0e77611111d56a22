/* SPDX-License-Identifier: Apache-2.0
 *
 * What a YAML scalar is, for the reader and the writer; and a document on its way from YAML to
 * JSON.
 */
#pragma once

#include "base/core/map.h"
#include "base/yaml/yaml.h"

#include <yaml.h>

typedef enum {
    AB_YAML_STRING,
    AB_YAML_NULL,
    AB_YAML_BOOL,
    AB_YAML_INT,
    AB_YAML_FLOAT,
    AB_YAML_NOT_FINITE, /* .inf and .nan, which JSON cannot hold */
} ab_yaml_kind;

/** What `text` is when it stands plain. Any but a string or a number that is not finite is appended
 * to `json` as JSON text. */
ab_yaml_kind ab_yaml_resolve(ab_str text, ab_buf *json);

/**
 * Append a scalar as JSON.
 *
 * @param tag     its tag in full, NULL for none
 * @param plain   it stands without quotes
 * @param reason  set on failure; static text
 * @return PARSE when it cannot be JSON or is not what its tag says; NOMEM, TOOBIG of the buffer
 */
AB_MUST_USE ab_err ab_yaml_scalar(ab_str text, const char *tag, bool plain, ab_buf *json,
                                  const char **reason);

typedef enum {
    AB_YAML_NODE_SCALAR,
    AB_YAML_NODE_SEQUENCE,
    AB_YAML_NODE_MAPPING,
    AB_YAML_NODE_ALIAS
} ab_yaml_node_kind;

typedef struct {
    ab_yaml_node_kind kind;
    bool merge;    /* a plain "<<" */
    bool empty;    /* a plain scalar without text */
    uint32_t next; /* index of the node after this one and all it contains; 0 while it is open */
    uint32_t parent;
    uint32_t target;  /* of an alias */
    uint32_t text_at; /* of a scalar: its JSON in `text` */
    uint32_t text_len;
    uint32_t line; /* 1 = first */
    uint32_t column;
} ab_yaml_node;

/* One document. */
typedef struct {
    const ab_yaml_limits *limits;
    ab_error *err;
    ab_yaml_node *nodes;
    uint32_t count;
    uint32_t room;
    uint32_t open; /* innermost open container, when depth > 0 */
    size_t depth;
    ab_buf text;
    ab_map *anchors; /* name -> index of the node, plus 1, as a pointer */
} ab_yaml_tree;

/** An empty tree; `limits` and `err` are borrowed for its life. @return NOMEM */
AB_MUST_USE ab_err ab_yaml_tree_init(ab_yaml_tree *t, const ab_yaml_limits *limits, ab_error *err);
void ab_yaml_tree_fini(ab_yaml_tree *t);
/** Say in the tree's ab_error that something is wrong with `n`. @return `code` */
ab_err ab_yaml_tree_fail(const ab_yaml_tree *t, const ab_yaml_node *n, ab_err code,
                         const char *reason);
/** Add what stands between the start and the end of a document. @return PARSE, TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_yaml_tree_add(ab_yaml_tree *t, const yaml_event_t *event);
/** Append a whole document, which has a node, as compact JSON, aliases and merge keys unfolded.
 *  @return PARSE, TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_yaml_tree_unfold(const ab_yaml_tree *t, ab_buf *out);
