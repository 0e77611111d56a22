/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a method and, after the first space, as a target: what is read can be put together
 * again, and then is read as the same request. No part is one that an API server would resolve.
 */
#include "live/resource/map.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_parts(const ab_resource_map *m)
{
    for (size_t i = 0; i < m->part_count; i++) {
        assert(m->parts[i].len > 0 && memchr(m->parts[i].ptr, '/', m->parts[i].len) == NULL);
        assert(memchr(m->parts[i].ptr, '\0', m->parts[i].len) == NULL);
        assert(!ab_str_is(m->parts[i], ".") && !ab_str_is(m->parts[i], ".."));
    }
}

static void check_same(const ab_resource_map *a, const ab_resource_map *b)
{
    assert(a->kind == b->kind && a->verb == b->verb && a->follow == b->follow);
    assert(ab_str_eq(a->group, b->group) && ab_str_eq(a->version, b->version));
    assert(ab_str_eq(a->resource, b->resource) && ab_str_eq(a->subresource, b->subresource));
    assert(ab_str_eq(a->ns, b->ns) && ab_str_eq(a->name, b->name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ab_resource_map m, again;
    const uint8_t *space = size == 0 ? NULL : memchr(data, ' ', size);
    if (space == NULL)
        return 0;
    ab_str method = {(const char *)data, (size_t)(space - data)};
    ab_str target = {(const char *)space + 1, size - method.len - 1};
    ab_str agent, rest;
    ab_error err = {0};
    if (ab_resource_map_split_agent(target, &agent, &rest, &err) != AB_ERR_OK ||
        ab_resource_map_read(method, rest, &m, &err) != AB_ERR_OK) {
        assert(err.text[0] != '\0');
        return 0;
    }
    check_parts(&m);
    ab_buf path;
    ab_buf_init(&path, 4u * AB_RESOURCE_TARGET_MAX);
    ab_resource_map_put_path(&m, &path);
    assert(ab_buf_status(&path) == AB_ERR_OK);
    /* Escapes make it longer; one that no longer fits is refused, and that is all. */
    if (ab_resource_map_read(method, ab_buf_str(&path), &again, NULL) == AB_ERR_OK)
        check_same(&m, &again);
    else
        assert(path.len - m.query.len > AB_RESOURCE_PATH_MAX || path.len > AB_RESOURCE_TARGET_MAX);
    ab_buf_fini(&path);
    return 0;
}
