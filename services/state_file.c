/* SPDX-License-Identifier: Apache-2.0 */
#include "services/state_db_priv.h"

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

#define FLAG_ENDED     1
#define FLAG_DELETING  2
#define FLAG_ADOPTABLE 4
#define FLAG_REMAPPED  8
#define FLAG_RELEASED  16
#define FLAG_ORPHAN    32

struct ab_state_file {
    sqlite3 *sql;
    sqlite3_stmt *get;
    sqlite3_stmt *put;
    sqlite3_stmt *prune;
};

/* --- opening --- */

/* It names the file, for a person who has to look after it. */
static ab_err sql_error(sqlite3 *db, int code, ab_error *err)
{
    const char *file = db == NULL ? NULL : sqlite3_db_filename(db, "main");
    if (file == NULL) /* it was never open */
        file = "state database";
    switch (code & 0xff) {
    case SQLITE_FULL:
        return ab_fail(err, AB_ERR_NOSPACE, "%s: no space left on its disk", file);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ab_fail(err, AB_ERR_PARSE,
                       "%s: the file is damaged: stop the program, remove the file, and start: "
                       "everything in it is received again",
                       file);
    case SQLITE_NOMEM:
        return ab_fail(err, AB_ERR_NOMEM, "%s: out of memory", file);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return ab_fail(err, AB_ERR_DENIED, "%s: %s: see that its folder exists and is writable",
                       file, sqlite3_errmsg(db));
    default:
        return ab_fail(err, AB_ERR_IO, "%s: %s", file, sqlite3_errmsg(db));
    }
}

static ab_err run(sqlite3 *db, const char *sql, ab_error *err)
{
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? AB_ERR_OK : sql_error(db, code, err);
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

static ab_err open_file(const char *path, sqlite3 **out, ab_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    make_private(path);
    int code = sqlite3_open_v2(path, out, flags, NULL);
    if (code != SQLITE_OK) {
        ab_err e = sql_error(*out, code, err);
        ab_error_prefix(err, "%s", path);
        return e;
    }
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
    return code == SQLITE_ROW ? AB_ERR_OK : sql_error(db, code, err);
}

static ab_err prepare_format(sqlite3 *db, bool *fresh, ab_error *err)
{
    int format = 0;
    ab_err e = format_of(db, &format, err);
    if (e != AB_ERR_OK)
        return e;
    if (format > FORMAT)
        return ab_fail(
            err, AB_ERR_UNSUPPORTED,
            "%s: written by a newer argobus (format %d): install that version again, or remove the "
            "file, and everything in it is received again",
            sqlite3_db_filename(db, "main"), format);
    *fresh = format == 0;
    if (format == FORMAT)
        return AB_ERR_OK;
    /* What of format 1 lacks its source is sent again by the next resync. */
    return run(db,
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

#define COLUMNS "key, epoch, version, flags, uid, principal_uid, owned, wish, source, hash"

/* Rows of deleted and released objects. SQLite uses the index only for this very expression. */
#define IS_OVER "flags & 17"

static ab_err prepare_statements(ab_state_file *db, ab_error *err)
{
    ab_err e = run(db->sql, "CREATE INDEX IF NOT EXISTS over ON kept(at) WHERE " IS_OVER, err);
    if (e != AB_ERR_OK)
        return e;
    struct {
        sqlite3_stmt **out;
        const char *text;
    } const statements[] = {
        {&db->get, "SELECT " COLUMNS " FROM kept WHERE key = ?"},
        {&db->put, "INSERT OR REPLACE INTO kept(" COLUMNS ", at)"
                   " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
        {&db->prune, "DELETE FROM kept WHERE rowid IN"
                     " (SELECT rowid FROM kept WHERE " IS_OVER " AND at < ? ORDER BY at LIMIT ?)"},
    };
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        int code = sqlite3_prepare_v2(db->sql, statements[i].text, -1, statements[i].out, NULL);
        if (code != SQLITE_OK)
            return sql_error(db->sql, code, err);
    }
    return AB_ERR_OK;
}

ab_err ab_state_file_open(const char *path, ab_state_file **out, bool *fresh, ab_error *err)
{
    ab_state_file *db = calloc(1, sizeof(*db));
    if (db == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = open_file(path, &db->sql, err);
    if (e == AB_ERR_OK)
        e = prepare_format(db->sql, fresh, err);
    if (e == AB_ERR_OK)
        e = prepare_statements(db, err);
    if (e == AB_ERR_OK)
        *out = db;
    else
        ab_state_file_close(db);
    return e;
}

void ab_state_file_close(ab_state_file *db)
{
    if (db == NULL)
        return;
    (void)sqlite3_finalize(db->get);
    (void)sqlite3_finalize(db->put);
    (void)sqlite3_finalize(db->prune);
    (void)sqlite3_close(db->sql);
    free(db);
}

/* --- transactions --- */

ab_err ab_state_file_begin(ab_state_file *db, ab_error *err)
{
    return run(db->sql, "BEGIN", err);
}

ab_err ab_state_file_commit(ab_state_file *db, ab_error *err)
{
    return run(db->sql, "COMMIT", err);
}

void ab_state_file_rollback(ab_state_file *db)
{
    (void)sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
}

/* Their time begins now: what they are marks against may come for as long as after an end. */
ab_err ab_state_file_release(ab_state_file *db, int64_t now_s, ab_error *err)
{
    char sql[256];
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE kept SET flags = 16, at = %lld, uid = NULL, principal_uid = NULL,"
                   " owned = NULL, wish = NULL, source = NULL, hash = NULL WHERE NOT flags & 16",
                   (long long)now_s);
    return run(db->sql, sql, err);
}

/* --- writing --- */

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

static int flags_of(const ab_received_state *k)
{
    return (k->ended ? FLAG_ENDED : 0) | (k->deleting ? FLAG_DELETING : 0) |
           (k->adoptable ? FLAG_ADOPTABLE : 0) | (k->remapped ? FLAG_REMAPPED : 0) |
           (k->released ? FLAG_RELEASED : 0) | (k->orphan ? FLAG_ORPHAN : 0);
}

static int bind_row(sqlite3_stmt *s, ab_str key, const ab_received_state *k, int64_t now_s)
{
    const int codes[] = {
        bind_key(s, key),
        sqlite3_bind_int64(s, 2, (int64_t)k->version.epoch),
        sqlite3_bind_int64(s, 3, (int64_t)k->version.version),
        sqlite3_bind_int(s, 4, flags_of(k)),
        bind_bytes(s, 5, k->uid),
        bind_bytes(s, 6, k->owner),
        bind_bytes(s, 7, k->owned),
        bind_bytes(s, 8, k->desired),
        bind_bytes(s, 9, k->source),
        bind_bytes(s, 10, (ab_str){(const char *)k->hash.bytes, sizeof(k->hash.bytes)}),
        sqlite3_bind_int64(s, 11, now_s),
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i] != SQLITE_OK)
            return codes[i];
    return SQLITE_OK;
}

/* Run a bound statement that returns no rows. */
static ab_err change(ab_state_file *db, sqlite3_stmt *s, int bound, ab_error *err)
{
    int code = bound == SQLITE_OK ? sqlite3_step(s) : bound;
    ab_err e = code == SQLITE_DONE ? AB_ERR_OK : sql_error(db->sql, code, err);
    (void)sqlite3_reset(s);
    return e;
}

ab_err ab_state_file_put(ab_state_file *db, ab_str key, const ab_received_state *received,
                         int64_t now_s, ab_error *err)
{
    return change(db, db->put, bind_row(db->put, key, received, now_s), err);
}

ab_err ab_state_file_prune(ab_state_file *db, int64_t now_s, ab_error *err)
{
    int code = sqlite3_bind_int64(db->prune, 1, now_s - ENDED_KEPT_DAYS * 86400);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(db->prune, 2, AB_STATE_FILE_PRUNE_MAX);
    return change(db, db->prune, code, err);
}

/* --- reading --- */

static ab_str column(sqlite3_stmt *s, int i)
{
    const void *bytes = sqlite3_column_blob(s, i);
    if (bytes == NULL)
        return AB_STR_NONE;
    return (ab_str){bytes, (size_t)sqlite3_column_bytes(s, i)};
}

static ab_str read_row(sqlite3_stmt *s, ab_received_state *out)
{
    int flags = sqlite3_column_int(s, 3);
    *out = (ab_received_state){
        .version = {(uint64_t)sqlite3_column_int64(s, 1), (uint64_t)sqlite3_column_int64(s, 2)},
        .ended = (flags & FLAG_ENDED) != 0,
        .deleting = (flags & FLAG_DELETING) != 0,
        .adoptable = (flags & FLAG_ADOPTABLE) != 0,
        .remapped = (flags & FLAG_REMAPPED) != 0,
        .released = (flags & FLAG_RELEASED) != 0,
        .orphan = (flags & FLAG_ORPHAN) != 0,
        .uid = column(s, 4),
        .owner = column(s, 5),
        .owned = column(s, 6),
        .desired = column(s, 7),
        .source = column(s, 8),
    };
    ab_str hash = column(s, 9);
    if (hash.len == sizeof(out->hash.bytes))
        memcpy(out->hash.bytes, hash.ptr, hash.len);
    return column(s, 0);
}

ab_err ab_state_file_each(ab_state_file *db,
                          ab_err (*fn)(void *arg, ab_str key, const ab_received_state *received),
                          void *arg, ab_error *err)
{
    sqlite3_stmt *s = NULL;
    ab_err e = AB_ERR_OK;
    int code = sqlite3_prepare_v2(db->sql, "SELECT " COLUMNS " FROM kept", -1, &s, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(s);
    for (; code == SQLITE_ROW && e == AB_ERR_OK; code = sqlite3_step(s)) {
        ab_received_state received;
        ab_str key = read_row(s, &received);
        e = fn(arg, key, &received);
    }
    (void)sqlite3_finalize(s);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "cannot take a row of the state database: %s", ab_err_text(e));
    return code == SQLITE_DONE ? AB_ERR_OK : sql_error(db->sql, code, err);
}

static ab_str copy_text(char **at, ab_str text)
{
    if (text.ptr == NULL)
        return AB_STR_NONE;
    memcpy(*at, text.ptr, text.len);
    ab_str out = {*at, text.len};
    *at += text.len;
    return out;
}

size_t ab_received_state_bytes(const ab_received_state *received)
{
    return received->uid.len + received->owner.len + received->owned.len + received->desired.len +
           received->source.len;
}

ab_received_state ab_received_state_copy(const ab_received_state *received, char *at)
{
    ab_received_state out = *received;
    out.uid = copy_text(&at, received->uid);
    out.owner = copy_text(&at, received->owner);
    out.owned = copy_text(&at, received->owned);
    out.desired = copy_text(&at, received->desired);
    out.source = copy_text(&at, received->source);
    return out;
}

static ab_err copy_row(sqlite3_stmt *s, ab_received_state *out, char **texts, ab_error *err)
{
    ab_received_state row;
    (void)read_row(s, &row);
    char *at = malloc(ab_received_state_bytes(&row) + 1);
    if (at == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    *out = ab_received_state_copy(&row, at);
    *texts = at;
    return AB_ERR_OK;
}

ab_err ab_state_file_get(ab_state_file *db, ab_str key, ab_received_state *out, char **texts,
                         ab_error *err)
{
    ab_err e;
    int code = bind_key(db->get, key);
    if (code == SQLITE_OK)
        code = sqlite3_step(db->get);
    if (code == SQLITE_ROW)
        e = copy_row(db->get, out, texts, err);
    else if (code == SQLITE_DONE)
        e = ab_fail(err, AB_ERR_NOTFOUND, "no such row");
    else
        e = sql_error(db->sql, code, err);
    (void)sqlite3_reset(db->get); /* an open statement would pin an old snapshot */
    return e;
}
