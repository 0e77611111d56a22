/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/watermark_parts.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_FIRST_MS 250
#define RETRY_MAX_MS   60000

/* --- what is to be done --- */

static bool is_used(const ab_watermark_part *part)
{
    return part->number == 0 || part->count > 0 || part->write_due;
}

void ab_watermark_parts_tend(ab_watermark_part *part)
{
    bool due = part->read == 0 || part->unsure || part->wanted || part->write_due;
    if (!due || !is_used(part))
        ab_link_remove(&part->in_due);
    else if (!ab_link_is_in_use(&part->in_due))
        ab_list_append(&part->parts->due, &part->in_due);
}

static void write_part(ab_watermark_part *part)
{
    part->write_due = true;
    ab_watermark_parts_tend(part);
}

bool ab_watermark_parts_must_wait(const ab_watermark_part *part)
{
    const ab_watermark_parts *m = part->parts;
    for (size_t i = part->number + 1; part->gives && i < m->count; i++)
        if (m->part[i].takes)
            return true;
    return false;
}

/* --- lines --- */

ab_watermark_line *ab_watermark_parts_line(ab_watermark_parts *m, ab_str agent)
{
    ab_watermark_line *line = ab_map_make(m->lines, agent, sizeof(*line));
    if (line == NULL || line->name != NULL)
        return line;
    line->name = ab_map_at(line).key.ptr;
    ab_link_init(&line->in_part);
    ab_link_init(&line->in_waiting);
    return line;
}

static void leave_part(ab_watermark_line *line)
{
    ab_link_remove(&line->in_waiting);
    ab_link_remove(&line->in_part);
    if (line->part != NULL)
        line->part->count--;
    line->part = NULL;
}

static void put_into(ab_watermark_line *line, ab_watermark_part *part)
{
    leave_part(line);
    ab_list_append(&part->lines, &line->in_part);
    part->count++;
    line->part = part;
    ab_watermark_parts_tend(part);
}

/* The ConfigMap of `to` gets a line that the one of `from` has. */
static void give(ab_watermark_part *from, ab_watermark_part *to)
{
    from->gives = to->takes = true;
    write_part(from);
    write_part(to);
}

static void move_to(ab_watermark_line *line, ab_watermark_part *part)
{
    give(line->part, part);
    put_into(line, part);
}

static void drop(ab_watermark_parts *m, ab_watermark_line *line)
{
    leave_part(line);
    ab_map_drop(m->lines, line);
}

static bool is_spare(const ab_watermark_line *line)
{
    return line->owner == NULL && !line->due && !line->writing && !line->run.distrusted;
}

void ab_watermark_parts_leave(ab_watermark_parts *m, ab_watermark_line *line)
{
    line->owner = NULL;
    ab_link_remove(&line->in_waiting);
    if (is_spare(line) && ab_watermark_is_empty(&line->sent))
        drop(m, line);
    else if (line->part != NULL)
        ab_list_append(&line->part->lines, &line->in_part); /* who left last is kept longest */
}

/* --- which part --- */

static void use_parts(ab_watermark_parts *m, size_t count)
{
    if (count > m->count)
        m->count = count;
}

/* The first part from this one on that has room for one more; the last one has. */
static ab_watermark_part *room_from(ab_watermark_parts *m, size_t number)
{
    while (number < AB_WATERMARK_PARTS_MAX - 1 && m->part[number].count >= AB_WATERMARK_AGENTS_MAX)
        number++;
    use_parts(m, number + 1);
    return &m->part[number];
}

static bool drop_spare(ab_watermark_parts *m, const ab_watermark_part *part)
{
    for (ab_list_iter i = ab_list_first(&part->lines); i.link != NULL; ab_list_next(&i)) {
        ab_watermark_line *line = AB_LINK_OF(i.link, ab_watermark_line, in_part);
        if (!is_spare(line))
            continue;
        drop(m, line);
        return true;
    }
    return false;
}

/* Before there is another part, an agent that is gone is forgotten. */
static void make_room(ab_watermark_parts *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->part[i].count < AB_WATERMARK_AGENTS_MAX)
            return;
    for (size_t i = 0; i < m->count; i++)
        if (drop_spare(m, &m->part[i]))
            return;
}

void ab_watermark_parts_place(ab_watermark_parts *m, ab_watermark_line *line)
{
    if (line->part == NULL && m->listed)
        make_room(m);
    if (line->part == NULL)
        put_into(line, room_from(m, 0));
    if (line->due) /* the store may have shown its part only after something was sent */
        write_part(line->part);
}

static void give_what_is_too_much(ab_watermark_parts *m, ab_watermark_part *part)
{
    size_t too_many =
        part->count > AB_WATERMARK_AGENTS_MAX && part->number < AB_WATERMARK_PARTS_MAX - 1
            ? part->count - AB_WATERMARK_AGENTS_MAX
            : 0;
    for (ab_list_iter i = ab_list_first(&part->lines); too_many > 0; ab_list_next(&i), too_many--)
        move_to(AB_LINK_OF(i.link, ab_watermark_line, in_part), room_from(m, part->number + 1));
}

void ab_watermark_parts_assign(ab_watermark_parts *m)
{
    for (ab_map_iter i = ab_map_first(m->lines); i.entry != NULL; ab_map_next(&i))
        ab_watermark_parts_place(m, i.value);
    for (size_t i = 0; i < m->count; i++)
        give_what_is_too_much(m, &m->part[i]);
    m->listed = true;
    ab_watermark_parts_tend(&m->part[0]);
}

/* --- what the store lists --- */

/* A line that two parts have, as a downgrade leaves it: the later one keeps it, since what gives
 * has the lower number. */
static void keep_later(ab_watermark_line *line, ab_watermark_part *part)
{
    if (part->number > line->part->number)
        move_to(line, part);
    else
        give(part, line->part);
}

static ab_err take_line(void *arg, ab_str agent, const ab_watermark_sent *sent)
{
    ab_watermark_part *part = arg;
    ab_watermark_line *line = ab_watermark_parts_line(part->parts, agent);
    if (line == NULL)
        return AB_ERR_NOMEM;
    ab_watermark_merge(&line->sent, sent);
    if (line->part == NULL)
        put_into(line, part);
    else if (line->part != part)
        keep_later(line, part);
    return AB_ERR_OK;
}

ab_err ab_watermark_parts_list(ab_watermark_parts *m, size_t number, const ab_object *object)
{
    ab_watermark_part *part = &m->part[number];
    ab_str id = ab_watermark_id(object);
    use_parts(m, number + 1);
    /* It may be shown more than once; what it said then is no more. */
    for (ab_list_iter i = ab_list_first(&part->lines); i.link != NULL; ab_list_next(&i))
        AB_LINK_OF(i.link, ab_watermark_line, in_part)->sent = (ab_watermark_sent){0};
    memcpy(part->id, id.ptr, id.len);
    part->id[id.len] = '\0';
    if (ab_watermark_is_copy(object))
        return AB_ERR_OK; /* it is written again once it was read */
    return ab_watermark_read(object, take_line, part);
}

/* --- life --- */

ab_err ab_watermark_parts_init(ab_watermark_parts *m, ab_asker asker)
{
    *m = (ab_watermark_parts){.count = 1, .lines = ab_map_new(), .missed = 1};
    ab_link_init(&m->due);
    for (size_t i = 0; i < AB_WATERMARK_PARTS_MAX; i++) {
        ab_watermark_part *part = &m->part[i];
        *part = (ab_watermark_part){.asker = asker, .parts = m, .number = i};
        ab_link_init(&part->lines);
        ab_link_init(&part->waiting);
        ab_link_init(&part->in_due);
        ab_backoff_init(&part->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    }
    return m->lines == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

void ab_watermark_parts_fini(ab_watermark_parts *m)
{
    ab_map_free(m->lines, NULL);
    for (size_t i = 0; i < AB_WATERMARK_PARTS_MAX; i++) {
        free(m->part[i].version);
        free(m->part[i].uid);
    }
}
