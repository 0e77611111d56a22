/* SPDX-License-Identifier: Apache-2.0
 *
 * From libyaml's events to a flat tree of nodes, in which an alias is one node.
 */
#include "base/yaml/yaml_priv.h"

#include <stdlib.h>
#include <string.h>

ab_err ab_yaml_tree_fail(const ab_yaml_tree *t, const ab_yaml_node *n, ab_err code,
                         const char *reason)
{
    return ab_fail(t->err, code, "YAML line %u, column %u: %s", n->line, n->column, reason);
}

ab_err ab_yaml_tree_init(ab_yaml_tree *t, const ab_yaml_limits *limits, ab_error *err)
{
    *t = (ab_yaml_tree){.limits = limits, .err = err, .anchors = ab_map_new()};
    size_t cap = limits->bytes_max < UINT32_MAX ? limits->bytes_max : UINT32_MAX;
    ab_buf_init_secret(&t->text, cap); /* a password may be in it */
    return t->anchors == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory for YAML") : AB_ERR_OK;
}

void ab_yaml_tree_fini(ab_yaml_tree *t)
{
    free(t->nodes);
    ab_buf_fini(&t->text);
    ab_map_free(t->anchors, NULL);
}

static ab_err grow_nodes(ab_yaml_tree *t, const ab_yaml_node *n)
{
    if (t->count >= t->limits->nodes_max)
        return ab_yaml_tree_fail(t, n, AB_ERR_TOOBIG, "too many nodes in one document");
    if (t->count < t->room)
        return AB_ERR_OK;
    uint32_t room = t->room == 0 ? 64 : t->room * 2;
    ab_yaml_node *nodes = realloc(t->nodes, room * sizeof(*nodes));
    if (nodes == NULL)
        return ab_fail(t->err, AB_ERR_NOMEM, "out of memory for YAML");
    t->nodes = nodes;
    t->room = room;
    return AB_ERR_OK;
}

static ab_err set_anchor(ab_yaml_tree *t, const yaml_char_t *anchor, uint32_t index)
{
    if (anchor == NULL)
        return AB_ERR_OK;
    void *value = (void *)((uintptr_t)index + 1);
    if (ab_map_put(t->anchors, ab_str_of((const char *)anchor), value, NULL) != AB_ERR_OK)
        return ab_fail(t->err, AB_ERR_NOMEM, "out of memory for YAML");
    return AB_ERR_OK;
}

static ab_err add_node(ab_yaml_tree *t, ab_yaml_node n, const yaml_char_t *anchor)
{
    ab_err e = grow_nodes(t, &n);
    if (e != AB_ERR_OK)
        return e;
    uint32_t index = t->count++;
    bool container = n.kind == AB_YAML_NODE_SEQUENCE || n.kind == AB_YAML_NODE_MAPPING;
    n.parent = t->open;
    n.next = container ? 0 : t->count;
    t->nodes[index] = n;
    if (container && t->depth++ == t->limits->depth_max)
        return ab_yaml_tree_fail(t, &n, AB_ERR_TOOBIG, "nested too deeply");
    if (container)
        t->open = index;
    return set_anchor(t, anchor, index);
}

static void close_node(ab_yaml_tree *t)
{
    ab_yaml_node *n = &t->nodes[t->open];
    n->next = t->count;
    t->open = n->parent;
    t->depth--;
}

static ab_err add_scalar(ab_yaml_tree *t, ab_yaml_node n, const yaml_event_t *event)
{
    ab_str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    const char *tag = (const char *)event->data.scalar.tag;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const char *reason = "larger than the limit";
    n.kind = AB_YAML_NODE_SCALAR;
    n.merge = plain && tag == NULL && ab_str_is(text, "<<");
    n.empty = plain && tag == NULL && text.len == 0;
    n.text_at = (uint32_t)t->text.len;
    ab_err e = ab_yaml_scalar(text, tag, plain, &t->text, &reason);
    if (e == AB_ERR_NOMEM)
        return ab_fail(t->err, e, "out of memory for YAML");
    if (e != AB_ERR_OK)
        return ab_yaml_tree_fail(t, &n, e, reason);
    n.text_len = (uint32_t)t->text.len - n.text_at;
    return add_node(t, n, event->data.scalar.anchor);
}

static ab_err add_alias(ab_yaml_tree *t, ab_yaml_node n, const yaml_event_t *event)
{
    ab_str name = ab_str_of((const char *)event->data.alias.anchor);
    uintptr_t found = (uintptr_t)ab_map_find(t->anchors, name);
    if (found == 0)
        return ab_yaml_tree_fail(t, &n, AB_ERR_PARSE, "alias of an anchor that does not exist");
    n.kind = AB_YAML_NODE_ALIAS;
    n.target = (uint32_t)(found - 1);
    if (t->nodes[n.target].next == 0)
        return ab_yaml_tree_fail(t, &n, AB_ERR_PARSE,
                                 "an alias refers to a value that contains it");
    return add_node(t, n, NULL);
}

static ab_err add_container(ab_yaml_tree *t, ab_yaml_node n, ab_yaml_node_kind kind,
                            const yaml_char_t *tag, const yaml_char_t *anchor)
{
    const char *own = kind == AB_YAML_NODE_SEQUENCE ? YAML_SEQ_TAG : YAML_MAP_TAG;
    if (tag != NULL && strcmp((const char *)tag, own) != 0 && strcmp((const char *)tag, "!") != 0)
        return ab_yaml_tree_fail(t, &n, AB_ERR_PARSE, "unknown tag");
    n.kind = kind;
    return add_node(t, n, anchor);
}

ab_err ab_yaml_tree_add(ab_yaml_tree *t, const yaml_event_t *event)
{
    ab_yaml_node n = {.line = (uint32_t)event->start_mark.line + 1,
                      .column = (uint32_t)event->start_mark.column + 1};
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return add_scalar(t, n, event);
    case YAML_ALIAS_EVENT:
        return add_alias(t, n, event);
    case YAML_SEQUENCE_START_EVENT:
        return add_container(t, n, AB_YAML_NODE_SEQUENCE, event->data.sequence_start.tag,
                             event->data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
        return add_container(t, n, AB_YAML_NODE_MAPPING, event->data.mapping_start.tag,
                             event->data.mapping_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_node(t);
        return AB_ERR_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return AB_ERR_OK;
}
