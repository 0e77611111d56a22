/* SPDX-License-Identifier: Apache-2.0
 *
 * From the tree of a YAML document to JSON, without recursion. Aliases and merge keys unfold here;
 * each node written, or looked at for a merge, counts, so a small text cannot cost much.
 */
#include "base/json/span.h"
#include "base/yaml/yaml_priv.h"

#include <stdlib.h>

/* What is being written. */
typedef struct {
    uint32_t container;
    uint32_t at; /* next child to look at */
    uint32_t
        owner; /* frame of the JSON object that a mapping adds to: its own, or one that merges it */
    bool merged;  /* a mapping, or a list of mappings, merged into another */
    bool merging; /* own members are done, merge keys are worked on */
    bool comma;
    ab_map *keys; /* names in the JSON object; only in the owner */
} frame;

typedef struct {
    const ab_yaml_tree *t;
    ab_buf *out;
    ab_buf name; /* of a member whose key is not a string */
    frame *stack;
    size_t depth;
    size_t visited;
} writer;

static const ab_yaml_node *node_at(const writer *w, uint32_t index)
{
    return &w->t->nodes[index];
}

static uint32_t resolve_alias(const writer *w, uint32_t index)
{
    const ab_yaml_node *n = node_at(w, index);
    return n->kind == AB_YAML_NODE_ALIAS ? n->target : index;
}

static ab_err count_visit(writer *w, uint32_t index)
{
    if (w->visited++ < w->t->limits->nodes_max)
        return AB_ERR_OK;
    return ab_yaml_tree_fail(w->t, node_at(w, index), AB_ERR_TOOBIG,
                             "too many nodes in one document, aliases unfolded");
}

static ab_err push_frame(writer *w, uint32_t container, bool merged)
{
    if (w->depth == w->t->limits->depth_max)
        return ab_yaml_tree_fail(w->t, node_at(w, container), AB_ERR_TOOBIG, "nested too deeply");
    frame f = {.container = container, .at = container + 1, .merged = merged};
    f.owner = merged ? w->stack[w->depth - 1].owner : (uint32_t)w->depth;
    if (!merged && node_at(w, container)->kind == AB_YAML_NODE_MAPPING) {
        f.keys = ab_map_new();
        if (f.keys == NULL)
            return ab_fail(w->t->err, AB_ERR_NOMEM, "out of memory for YAML");
    }
    w->stack[w->depth++] = f;
    return AB_ERR_OK;
}

static ab_str json_of(const writer *w, const ab_yaml_node *scalar)
{
    return (ab_str){w->t->text.ptr + scalar->text_at, scalar->text_len};
}

/* Write a scalar whole; of a container only the beginning. */
static ab_err write_value(writer *w, uint32_t index)
{
    ab_err e = count_visit(w, index);
    if (e != AB_ERR_OK)
        return e;
    uint32_t target = resolve_alias(w, index);
    const ab_yaml_node *n = node_at(w, target);
    if (n->kind == AB_YAML_NODE_SCALAR) {
        ab_buf_put(w->out, json_of(w, n));
        return AB_ERR_OK;
    }
    ab_buf_putc(w->out, n->kind == AB_YAML_NODE_SEQUENCE ? '[' : '{');
    return push_frame(w, target, false);
}

/* The member name as a JSON string; numbers and booleans give their text, as kubectl has it. */
static ab_err key_json(writer *w, uint32_t index, ab_str *out)
{
    const ab_yaml_node *n = node_at(w, resolve_alias(w, index));
    if (n->kind != AB_YAML_NODE_SCALAR || ab_str_is(json_of(w, n), "null"))
        return ab_yaml_tree_fail(w->t, node_at(w, index), AB_ERR_PARSE,
                                 "a key must be a string, a number or a boolean");
    *out = json_of(w, n);
    if (out->ptr[0] == '"')
        return AB_ERR_OK;
    ab_buf_clear(&w->name);
    ab_span_put_string(&w->name, *out);
    *out = ab_buf_str(&w->name);
    ab_err e = ab_buf_status(&w->name);
    if (e != AB_ERR_OK)
        return ab_yaml_tree_fail(w->t, node_at(w, index), e, ab_err_text(e));
    return AB_ERR_OK;
}

static void separate(writer *w, frame *f)
{
    if (f->comma)
        ab_buf_putc(w->out, ',');
    f->comma = true;
}

static ab_err write_member(writer *w, frame *f, uint32_t key, uint32_t value)
{
    frame *owner = &w->stack[f->owner];
    ab_str name = AB_STR_NONE;
    ab_err e = count_visit(w, key);
    if (e == AB_ERR_OK)
        e = key_json(w, key, &name);
    if (e != AB_ERR_OK)
        return e;
    if (ab_map_find(owner->keys, name) != NULL) {
        if (f->merged) /* what a mapping says itself, or merged earlier, counts */
            return AB_ERR_OK;
        return ab_yaml_tree_fail(w->t, node_at(w, key), AB_ERR_PARSE, "duplicate key");
    }
    if (ab_map_put(owner->keys, name, owner, NULL) != AB_ERR_OK)
        return ab_fail(w->t->err, AB_ERR_NOMEM, "out of memory for YAML");
    separate(w, owner);
    ab_buf_put(w->out, name);
    ab_buf_putc(w->out, ':');
    return write_value(w, value);
}

static ab_err merge_from(writer *w, uint32_t source, bool list_allowed)
{
    ab_err e = count_visit(w, source);
    if (e != AB_ERR_OK)
        return e;
    uint32_t target = resolve_alias(w, source);
    ab_yaml_node_kind kind = node_at(w, target)->kind;
    if (kind == AB_YAML_NODE_MAPPING || (kind == AB_YAML_NODE_SEQUENCE && list_allowed))
        return push_frame(w, target, true);
    return ab_yaml_tree_fail(w->t, node_at(w, source), AB_ERR_PARSE,
                             "a merge key needs a mapping or a list of mappings");
}

static void pop_frame(writer *w)
{
    frame *f = &w->stack[--w->depth];
    ab_map_free(f->keys, NULL);
    if (!f->merged)
        ab_buf_putc(w->out, node_at(w, f->container)->kind == AB_YAML_NODE_SEQUENCE ? ']' : '}');
}

static ab_err step_sequence(writer *w, frame *f)
{
    uint32_t element = f->at;
    f->at = node_at(w, element)->next;
    if (f->merged)
        return merge_from(w, element, false);
    separate(w, f);
    return write_value(w, element);
}

static ab_err step_mapping(writer *w, frame *f)
{
    uint32_t key = f->at;
    uint32_t value = node_at(w, key)->next;
    bool merge = node_at(w, key)->merge;
    f->at = node_at(w, value)->next;
    if (f->merging != merge)
        return AB_ERR_OK;
    return merge ? merge_from(w, value, true) : write_member(w, f, key, value);
}

static ab_err step(writer *w)
{
    frame *f = &w->stack[w->depth - 1];
    bool mapping = node_at(w, f->container)->kind == AB_YAML_NODE_MAPPING;
    if (f->at != node_at(w, f->container)->next)
        return mapping ? step_mapping(w, f) : step_sequence(w, f);
    if (mapping && !f->merging) {
        f->merging = true;
        f->at = f->container + 1;
        return AB_ERR_OK;
    }
    pop_frame(w);
    return AB_ERR_OK;
}

static ab_err write_tree(writer *w)
{
    ab_err e = write_value(w, 0);
    while (e == AB_ERR_OK && w->depth > 0)
        e = step(w);
    while (w->depth > 0)
        pop_frame(w);
    ab_err status = ab_buf_status(w->out);
    if (e == AB_ERR_OK && status != AB_ERR_OK)
        e = ab_yaml_tree_fail(w->t, node_at(w, 0), status, ab_err_text(status));
    return e;
}

ab_err ab_yaml_tree_unfold(const ab_yaml_tree *t, ab_buf *out)
{
    writer w = {.t = t, .out = out, .stack = calloc(t->limits->depth_max + 1, sizeof(*w.stack))};
    if (w.stack == NULL)
        return ab_fail(t->err, AB_ERR_NOMEM, "out of memory for YAML");
    ab_buf_init(&w.name, t->limits->bytes_max);
    ab_err e = write_tree(&w);
    ab_buf_fini(&w.name);
    free(w.stack);
    return e;
}
