/* SPDX-License-Identifier: Apache-2.0
 *
 * Which part of the store's watermark has the line of which agent. A part is one ConfigMap, written
 * as a whole (watermark.c), so it has a bounded number of lines, and an agent stays in the part
 * where its line was found: only then is what was read of that part proof for this agent. A hash of
 * the name would need no search, but all the ConfigMaps for a handful of agents, and their names in
 * the role of every installation.
 *
 * Former versions wrote one ConfigMap, whatever its size: it is the first part, which gives what is
 * too much to other ones. No line is ever in no ConfigMap: those that get one are written before
 * the one that gives it, which has the lower number.
 */
#include "sync/principal/principal_priv.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_FIRST_MS 250
#define RETRY_MAX_MS   60000

/* --- lines --- */

/* @return NULL when out of memory */
static struct watermark_line *line_of(ab_principal *p, ab_str agent)
{
    struct watermark_line *line = ab_map_find(p->watermark.lines, agent);
    if (line != NULL)
        return line;
    line = calloc(1, sizeof(*line) + agent.len + 1);
    if (line == NULL)
        return NULL;
    memcpy(line->name, agent.ptr, agent.len);
    ab_link_init(&line->in_part);
    if (ab_map_put(p->watermark.lines, agent, line, NULL) == AB_ERR_OK)
        return line;
    free(line);
    return NULL;
}

static void leave_part(struct watermark_line *line)
{
    ab_link_remove(&line->in_part);
    if (line->part != NULL)
        line->part->count--;
    line->part = NULL;
}

static void put_into(struct watermark_line *line, struct watermark_part *part)
{
    leave_part(line);
    ab_list_append(&part->lines, &line->in_part);
    part->count++;
    line->part = part;
}

/* Its ConfigMap gets a line that another one has. */
static void move_to(struct watermark_line *line, struct watermark_part *part)
{
    line->part->gives = line->part->write_due = true;
    part->takes = part->write_due = true;
    put_into(line, part);
}

/* --- parts --- */

static void use_parts(ab_principal *p, size_t count)
{
    if (count > p->watermark.count)
        p->watermark.count = count;
}

/* The first part from this one on that has room for one more; the last one has. */
static struct watermark_part *room_from(ab_principal *p, size_t number)
{
    while (number < AB_WATERMARK_PARTS_MAX - 1 &&
           p->watermark.parts[number].count >= AB_WATERMARK_AGENTS_MAX)
        number++;
    use_parts(p, number + 1);
    return &p->watermark.parts[number];
}

/* One that was served before the store was listed may have been told something. */
static void place(ab_principal *p, struct watermark_line *line)
{
    const struct peer *peer = line->peer;
    struct watermark_part *part = room_from(p, 0);
    put_into(line, part);
    if (peer == NULL || peer->proof.written_for_list ||
        !ab_version_is_none(peer->proof.sent_this_run))
        part->write_due = true;
}

static void give_what_is_too_much(ab_principal *p, struct watermark_part *part)
{
    size_t too_many =
        part->count > AB_WATERMARK_AGENTS_MAX && part->number < AB_WATERMARK_PARTS_MAX - 1
            ? part->count - AB_WATERMARK_AGENTS_MAX
            : 0;
    for (ab_list_iter i = ab_list_first(&part->lines); too_many > 0; ab_list_next(&i), too_many--)
        move_to(AB_LINK_OF(i.link, struct watermark_line, in_part), room_from(p, part->number + 1));
}

void ab_principal_watermark_assign(ab_principal *p)
{
    for (ab_map_iter i = ab_map_first(p->watermark.lines); i.entry != NULL; ab_map_next(&i))
        if (((struct watermark_line *)i.value)->part == NULL)
            place(p, i.value);
    for (size_t i = 0; i < p->watermark.count; i++)
        give_what_is_too_much(p, &p->watermark.parts[i]);
}

/* --- what the store lists --- */

/* A line that two parts have, as a downgrade leaves it: the later one keeps it, since what gives
 * has the lower number. */
static void keep_later(struct watermark_line *line, struct watermark_part *part)
{
    if (part->number > line->part->number) {
        move_to(line, part);
        return;
    }
    part->gives = part->write_due = true;
    line->part->takes = line->part->write_due = true;
}

static ab_err take_line(void *arg, ab_str agent, const ab_watermark_sent *sent)
{
    struct watermark_part *part = arg;
    struct watermark_line *line = line_of(part->principal, agent);
    if (line == NULL)
        return AB_ERR_NOMEM;
    ab_watermark_merge(&line->sent, sent);
    if (line->part == NULL)
        put_into(line, part);
    else if (line->part != part)
        keep_later(line, part);
    return AB_ERR_OK;
}

/* It may be shown more than once; what it says then is no more. */
static void forget_told(const struct watermark_part *part)
{
    for (ab_list_iter i = ab_list_first(&part->lines); i.link != NULL; ab_list_next(&i))
        AB_LINK_OF(i.link, struct watermark_line, in_part)->sent = (ab_watermark_sent){0};
}

void ab_principal_watermark_note(ab_principal *p, const ab_object *object)
{
    if (p->listed || !ab_str_is(ab_object_kind(object), "ConfigMap") ||
        !ab_str_is(ab_object_namespace(object), p->env.namespace))
        return;
    size_t number = ab_watermark_part(ab_object_name(object));
    if (number == AB_WATERMARK_PARTS_MAX)
        return;
    struct watermark_part *part = &p->watermark.parts[number];
    use_parts(p, number + 1);
    forget_told(part);
    ab_str id = ab_watermark_id(object);
    memcpy(part->id, id.ptr, id.len);
    part->id[id.len] = '\0';
    if (ab_watermark_read(object, take_line, part) != AB_ERR_OK)
        AB_ERROR(p->env.log, SYNC, "out of memory", AB_KV("object", ab_object_key(object)));
}

/* --- agents come and go --- */

ab_err ab_principal_watermark_join(struct peer *peer)
{
    peer->line = line_of(peer->principal, ab_str_of(peer->name));
    if (peer->line == NULL)
        return AB_ERR_NOMEM;
    peer->line->peer = peer;
    if (peer->principal->listed && peer->line->part == NULL)
        place(peer->principal, peer->line);
    return AB_ERR_OK;
}

void ab_principal_watermark_remove(struct peer *peer)
{
    struct watermark_line *line = peer->line;
    peer->line = NULL;
    if (line == NULL)
        return;
    line->peer = NULL;
    if (!ab_watermark_is_empty(&line->sent))
        return;
    leave_part(line);
    free(ab_map_take(peer->principal->watermark.lines, ab_str_of(line->name)));
}

/* --- life --- */

ab_err ab_principal_watermark_init(ab_principal *p)
{
    p->watermark = (struct watermark){.count = 1, .lines = ab_map_new()};
    for (size_t i = 0; i < AB_WATERMARK_PARTS_MAX; i++) {
        struct watermark_part *part = &p->watermark.parts[i];
        *part = (struct watermark_part){
            .record.done = ab_principal_watermark_done, .principal = p, .number = i};
        ab_link_init(&part->lines);
        ab_backoff_init(&part->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    }
    return p->watermark.lines == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

void ab_principal_watermark_fini(ab_principal *p)
{
    ab_map_free(p->watermark.lines, free);
    for (size_t i = 0; i < AB_WATERMARK_PARTS_MAX; i++)
        free(p->watermark.parts[i].version);
}
