/* SPDX-License-Identifier: Apache-2.0 */
#include "services/cache.h"

#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT          2
#define ENDED_KEPT_DAYS 30
#define BATCH_MAX       2000

#define FLAG_ENDED     1
#define FLAG_DELETING  2
#define FLAG_ADOPTABLE 4
#define FLAG_REMAPPED  8
#define FLAG_RELEASED  16

/* A row on its way to disk: one allocation, the texts behind the struct. */
struct row {
    struct row *next;
    ab_str key;
    ab_kept kept;
    ab_cache_done done;
    void *arg;
};

struct ab_cache {
    uv_loop_t *loop;
    sqlite3 *reader; /* loop thread */
    sqlite3 *writer; /* worker thread while `busy` */
    sqlite3_stmt *recall;
    sqlite3_stmt *keep;
    uv_work_t work;
    bool busy;
    struct row *head, *tail; /* waiting */
    struct row *batch;       /* with the worker */
    size_t pending;
    int64_t now_s;
    const ab_clock *clock;
    ab_err result; /* of the batch */
    ab_error error;
};

static ab_err sql_error(sqlite3 *db, int code, ab_error *err, const char *what)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return ab_fail(err, AB_ERR_NOSPACE, "%s: no space left in agent.data", what);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ab_fail(err, AB_ERR_PARSE,
                       "%s: the file is damaged: remove it, and the agent learns everything anew",
                       what);
    case SQLITE_NOMEM:
        return ab_fail(err, AB_ERR_NOMEM, "%s: out of memory", what);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return ab_fail(err, AB_ERR_DENIED, "%s: %s: see that agent.data exists and is writable",
                       what, sqlite3_errmsg(db));
    default:
        return ab_fail(err, AB_ERR_IO, "%s: %s", what, sqlite3_errmsg(db));
    }
}

static ab_err run(sqlite3 *db, const char *sql, ab_error *err)
{
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? AB_ERR_OK : sql_error(db, code, err, "cache");
}

/* SQLite would let everybody read what it makes. What is there already is not opened: closing it
 * would take away the locks that another connection of ours has. */
static void make_private(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)close(fd);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char file[PATH_MAX];
        if (snprintf(file, sizeof(file), "%s%s", path, ends[i]) < (int)sizeof(file))
            (void)chmod(file, 0600);
    }
}

static ab_err open_one(const char *path, sqlite3 **out, ab_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    make_private(path);
    int code = sqlite3_open_v2(path, out, flags, NULL);
    if (code != SQLITE_OK)
        return sql_error(*out, code, err, path);
    sqlite3_busy_timeout(*out, 5000);
    /* FULL: what was acknowledged to the principal must survive a power cut. A small page cache is
     * enough. */
    return run(*out, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-512;",
               err);
}

static ab_err format_of(sqlite3 *db, int *out, ab_error *err)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(s);
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int(s, 0);
    (void)sqlite3_finalize(s);
    return code == SQLITE_ROW ? AB_ERR_OK : sql_error(db, code, err, "cache");
}

static ab_err prepare_format(ab_cache *c, bool *fresh, ab_error *err)
{
    int format = 0;
    ab_err e = format_of(c->writer, &format, err);
    if (e != AB_ERR_OK)
        return e;
    if (format > FORMAT)
        return ab_fail(err, AB_ERR_UNSUPPORTED,
                       "the cache in agent.data was written by a newer argobus (format %d)",
                       format);
    *fresh = format == 0;
    if (format == FORMAT)
        return AB_ERR_OK;
    /* What of format 1 lacks its source is sent again by the next resync. */
    return run(c->writer,
               *fresh ? "BEGIN;"
                        "CREATE TABLE kept(key TEXT PRIMARY KEY, epoch INTEGER, version INTEGER,"
                        " flags INTEGER, at INTEGER, uid TEXT, principal_uid TEXT, owned TEXT,"
                        " wish BLOB, source TEXT, hash BLOB);"
                        "PRAGMA user_version=2;"
                        "COMMIT;"
                      : "BEGIN;"
                        "ALTER TABLE kept ADD COLUMN source TEXT;"
                        "ALTER TABLE kept ADD COLUMN hash BLOB;"
                        "PRAGMA user_version=2;"
                        "COMMIT;",
               err);
}

/* Ends are only needed as long as an older event may still be redelivered. */
static ab_err prune(ab_cache *c, ab_error *err)
{
    sqlite3_stmt *s = NULL;
    int code =
        sqlite3_prepare_v2(c->writer, "DELETE FROM kept WHERE flags & 17 AND at < ?", -1, &s, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(s, 1, c->now_s - ENDED_KEPT_DAYS * 86400);
    if (code == SQLITE_OK)
        code = sqlite3_step(s);
    (void)sqlite3_finalize(s);
    return code == SQLITE_DONE ? AB_ERR_OK : sql_error(c->writer, code, err, "cache");
}

#define COLUMNS "key, epoch, version, flags, uid, principal_uid, owned, wish, source, hash"

static ab_err prepare_statements(ab_cache *c, ab_error *err)
{
    int code = sqlite3_prepare_v2(c->reader, "SELECT " COLUMNS " FROM kept WHERE key = ?", -1,
                                  &c->recall, NULL);
    if (code != SQLITE_OK)
        return sql_error(c->reader, code, err, "cache");
    code = sqlite3_prepare_v2(c->writer,
                              "INSERT OR REPLACE INTO kept(" COLUMNS ", at)"
                              " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                              -1, &c->keep, NULL);
    return code == SQLITE_OK ? AB_ERR_OK : sql_error(c->writer, code, err, "cache");
}

ab_err ab_cache_open(uv_loop_t *loop, const char *path, const ab_clock *clock, ab_cache **out,
                     bool *fresh, ab_error *err)
{
    ab_cache *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    c->loop = loop;
    c->clock = clock;
    c->now_s = ab_clock_wall_us(clock) / 1000000;
    ab_err e = open_one(path, &c->writer, err);
    if (e == AB_ERR_OK)
        e = prepare_format(c, fresh, err);
    if (e == AB_ERR_OK)
        e = prune(c, err);
    if (e == AB_ERR_OK)
        e = open_one(path, &c->reader, err);
    if (e == AB_ERR_OK)
        e = prepare_statements(c, err);
    if (e != AB_ERR_OK) {
        ab_cache_close(c);
        return e;
    }
    *out = c;
    return AB_ERR_OK;
}

void ab_cache_close(ab_cache *c)
{
    if (c == NULL)
        return;
    (void)sqlite3_finalize(c->recall);
    (void)sqlite3_finalize(c->keep);
    (void)sqlite3_close(c->reader);
    (void)sqlite3_close(c->writer);
    free(c);
}

ab_err ab_cache_release(ab_cache *c, ab_error *err)
{
    return run(c->writer,
               "UPDATE kept SET flags = 16, uid = NULL, principal_uid = NULL, owned = NULL,"
               " wish = NULL, source = NULL, hash = NULL WHERE NOT flags & 16",
               err);
}

static ab_str column(sqlite3_stmt *s, int i)
{
    const void *bytes = sqlite3_column_blob(s, i);
    if (bytes == NULL)
        return AB_STR_NONE;
    return (ab_str){bytes, (size_t)sqlite3_column_bytes(s, i)};
}

static ab_str read_row(sqlite3_stmt *s, ab_kept *out)
{
    int flags = sqlite3_column_int(s, 3);
    *out = (ab_kept){
        .version = {(uint64_t)sqlite3_column_int64(s, 1), (uint64_t)sqlite3_column_int64(s, 2)},
        .ended = (flags & FLAG_ENDED) != 0,
        .deleting = (flags & FLAG_DELETING) != 0,
        .adoptable = (flags & FLAG_ADOPTABLE) != 0,
        .remapped = (flags & FLAG_REMAPPED) != 0,
        .released = (flags & FLAG_RELEASED) != 0,
        .uid = column(s, 4),
        .owner = column(s, 5),
        .owned = column(s, 6),
        .wish = column(s, 7),
        .source = column(s, 8),
    };
    ab_str hash = column(s, 9);
    if (hash.len == sizeof(out->hash.bytes))
        memcpy(out->hash.bytes, hash.ptr, hash.len);
    return column(s, 0);
}

ab_err ab_cache_each(ab_cache *c, ab_err (*fn)(void *arg, ab_str key, const ab_kept *kept),
                     void *arg, ab_error *err)
{
    sqlite3_stmt *s = NULL;
    ab_err e = AB_ERR_OK;
    int code = sqlite3_prepare_v2(c->reader, "SELECT " COLUMNS " FROM kept", -1, &s, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(s);
    for (; code == SQLITE_ROW && e == AB_ERR_OK; code = sqlite3_step(s)) {
        ab_kept kept;
        ab_str key = read_row(s, &kept);
        e = fn(arg, key, &kept);
    }
    (void)sqlite3_finalize(s);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "a row of the cache could not be taken: %s", ab_err_text(e));
    return code == SQLITE_DONE ? AB_ERR_OK : sql_error(c->reader, code, err, "cache");
}

static int bind_bytes(sqlite3_stmt *s, int i, ab_str text)
{
    if (text.ptr == NULL)
        return sqlite3_bind_null(s, i);
    return sqlite3_bind_blob64(s, i, text.ptr, text.len, SQLITE_STATIC);
}

static int bind_key(sqlite3_stmt *s, ab_str key)
{
    return sqlite3_bind_text64(s, 1, key.ptr, key.len, SQLITE_STATIC, SQLITE_UTF8);
}

ab_err ab_cache_recall(ab_cache *c, ab_str key, ab_kept *out)
{
    (void)sqlite3_reset(c->recall);
    int code = bind_key(c->recall, key);
    if (code == SQLITE_OK)
        code = sqlite3_step(c->recall);
    if (code == SQLITE_DONE)
        return AB_ERR_NOTFOUND;
    if (code != SQLITE_ROW)
        return AB_ERR_IO;
    (void)read_row(c->recall, out);
    return AB_ERR_OK;
}

/* --- writing, on a worker --- */

static int keep_row(ab_cache *c, const struct row *r)
{
    const ab_kept *k = &r->kept;
    int flags = (k->ended ? FLAG_ENDED : 0) | (k->deleting ? FLAG_DELETING : 0) |
                (k->adoptable ? FLAG_ADOPTABLE : 0) | (k->remapped ? FLAG_REMAPPED : 0) |
                (k->released ? FLAG_RELEASED : 0);
    sqlite3_stmt *s = c->keep;
    (void)sqlite3_reset(s);
    const int codes[] = {
        bind_key(s, r->key),
        sqlite3_bind_int64(s, 2, (int64_t)k->version.epoch),
        sqlite3_bind_int64(s, 3, (int64_t)k->version.version),
        sqlite3_bind_int(s, 4, flags),
        bind_bytes(s, 5, k->uid),
        bind_bytes(s, 6, k->owner),
        bind_bytes(s, 7, k->owned),
        bind_bytes(s, 8, k->wish),
        bind_bytes(s, 9, k->source),
        bind_bytes(s, 10, (ab_str){(const char *)k->hash.bytes, sizeof(k->hash.bytes)}),
        sqlite3_bind_int64(s, 11, c->now_s),
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i] != SQLITE_OK)
            return codes[i];
    int code = sqlite3_step(s);
    (void)sqlite3_reset(s);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static ab_err write_batch(ab_cache *c, ab_error *err)
{
    ab_err e = run(c->writer, "BEGIN", err);
    for (struct row *r = c->batch; r != NULL && e == AB_ERR_OK; r = r->next) {
        int code = keep_row(c, r);
        if (code != SQLITE_OK)
            e = sql_error(c->writer, code, err, "cache");
    }
    if (e == AB_ERR_OK)
        e = run(c->writer, "COMMIT", err);
    if (e != AB_ERR_OK)
        (void)sqlite3_exec(c->writer, "ROLLBACK", NULL, NULL, NULL);
    return e;
}

static void on_worker(uv_work_t *work)
{
    ab_cache *c = work->data;
    c->error = (ab_error){0};
    c->result = write_batch(c, &c->error);
}

static void start_batch(ab_cache *c);

static void on_written(uv_work_t *work, int status)
{
    ab_cache *c = work->data;
    struct row *r = c->batch;
    ab_err result = status == 0 ? c->result : AB_ERR_CLOSED;
    ab_error error = c->error;
    c->busy = false;
    c->batch = NULL;
    /* The recall statement may hold an old snapshot open. */
    (void)sqlite3_reset(c->recall);
    while (r != NULL) {
        struct row *next = r->next;
        c->pending--;
        r->done(r->arg, result, &error);
        free(r);
        r = next;
    }
    start_batch(c);
}

static void start_batch(ab_cache *c)
{
    if (c->busy || c->head == NULL)
        return;
    struct row *last = c->head;
    for (size_t n = 1; n < BATCH_MAX && last->next != NULL; n++)
        last = last->next;
    c->batch = c->head;
    c->head = last->next;
    if (c->head == NULL)
        c->tail = NULL;
    last->next = NULL;
    c->now_s = ab_clock_wall_us(c->clock) / 1000000;
    c->work.data = c;
    c->busy = uv_queue_work(c->loop, &c->work, on_worker, on_written) == 0;
}

static ab_str copy(char **at, ab_str text)
{
    if (text.ptr == NULL)
        return AB_STR_NONE;
    memcpy(*at, text.ptr, text.len);
    ab_str out = {*at, text.len};
    *at += text.len;
    return out;
}

ab_err ab_cache_keep(ab_cache *c, ab_str key, const ab_kept *kept, ab_cache_done done, void *arg)
{
    size_t bytes = key.len + kept->uid.len + kept->owner.len + kept->owned.len + kept->wish.len +
                   kept->source.len;
    struct row *r = malloc(sizeof(*r) + bytes);
    if (r == NULL)
        return AB_ERR_NOMEM;
    char *at = (char *)(r + 1);
    *r = (struct row){.kept = *kept, .done = done, .arg = arg};
    r->key = copy(&at, key);
    r->kept.uid = copy(&at, kept->uid);
    r->kept.owner = copy(&at, kept->owner);
    r->kept.owned = copy(&at, kept->owned);
    r->kept.wish = copy(&at, kept->wish);
    r->kept.source = copy(&at, kept->source);
    if (c->tail == NULL)
        c->head = r;
    else
        c->tail->next = r;
    c->tail = r;
    c->pending++;
    start_batch(c);
    return AB_ERR_OK;
}

size_t ab_cache_pending(const ab_cache *c)
{
    return c->pending;
}
