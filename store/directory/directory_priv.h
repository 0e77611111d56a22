/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the directory store and what they share.
 *
 *   watch.c      inotify says what may have changed
 *   listing.c    folders and their names, at start and when inotify says so -> ab_dir_touch
 *   load.c       has touched files read, a batch at a time (batch.c), and reports what changed
 *   missing.c    objects that their files no longer have
 *   queue.c      operations wait here, one line per file, and end here
 *   write.c      what an operation does on a worker
 *   index.c      the files and objects known
 *
 * A file is worked on by one job at a time (`busy`), so a reader never meets a half-made change of
 * ours and the sidecars of a file's objects have one writer. All of this lives on the loop thread;
 * a worker sees only its own job, `root` and `versions`.
 */
#pragma once

#include "base/core/map.h"
#include "store/directory/disk.h"
#include "store/directory/stream.h"
#include "store/store.h"

#include <stdatomic.h>

typedef struct ab_dir ab_dir;
typedef struct ab_dir_file ab_dir_file;
typedef struct ab_dir_entry ab_dir_entry;
typedef struct ab_dir_op ab_dir_op;

/* The parts of "<namespace>/<kind>/<file>". */
typedef struct {
    char ns[64];
    char kind[64];
    char file[256];
} ab_place;

struct ab_dir_file {
    char *path;       /* "<namespace>/<kind>/<file>" */
    ab_digest digest; /* of the text last read or written; none when there is no such file */
    size_t documents; /* in that text, or in the one before when it cannot be read */
    bool broken;      /* has faults: it may hold objects that we do not know */
    bool dirty;       /* may have changed: to be read before anything else is done with it */
    bool busy;        /* a job works on it */
    bool loading;     /* that job reads it */
    bool must_read;   /* read it although its text is the same */
    bool relisted;    /* what it lacks when it is read next was not observed to go */
    bool relisting;   /* so it is with what is being read of it */
    bool second;      /* another file has precedence for an object of it, and was read */
    ab_dir_file *next_dirty;
    ab_dir_entry *entries;
    ab_dir_op *first; /* operations that wait for it */
    ab_dir_op *last;
};

/* An object that exists. */
struct ab_dir_entry {
    char key[AB_OBJECT_KEY_MAX];
    ab_dir_file *file;
    ab_dir_entry *next; /* in the same file */
    uint64_t version;   /* last reported; 0: none yet */
    char *head;         /* JSON: what its deletion will report; NULL before the first report */
    char *conflicting;  /* path of another file that has it too, NULL when none is known */
    bool missing;       /* its file does not have it; gone when that lasts */
    bool unobserved;    /* and inotify did not tell so of this very file */
    int64_t missing_since_ms;
};

typedef enum {
    AB_DIR_APPLY,
    AB_DIR_STATUS,
    AB_DIR_REMOVE,
    AB_DIR_GET,
    AB_DIR_FORGET, /* its manifest is gone: drop what we keep beside it */
    AB_DIR_REFUSE, /* report `code`, nothing else */
} ab_dir_verb;

struct ab_dir_op {
    uv_work_t work;
    ab_dir *dir;
    ab_dir_op *next;
    ab_dir_verb verb;
    /* What was asked. */
    char key[AB_OBJECT_KEY_MAX];
    ab_object *object;
    char *status;
    char *status_version;
    char *want_version;
    char *want_uid;
    bool must_exist;
    bool must_not_exist;
    ab_store_done done;
    void *arg;
    /* What was known when it began. */
    ab_dir_file *file;
    ab_place place;
    char name[254];
    ab_digest digest; /* of the file; after the job: of what is there now */
    bool exists;
    bool whole; /* the file holds nothing but this object */
    int64_t now_us;
    /* What came of it. */
    ab_err code;
    ab_error err;
    bool stale;   /* somebody else changed the file: read it first, then try again */
    bool changed; /* there is a new state to report */
    bool gone;
    size_t documents;
    ab_object *result;
};

struct ab_dir {
    ab_store base;
    char *path;
    int root;
    int lock;
    _Atomic uint64_t
        versions; /* last resourceVersion given; rises for ever, see ab_dir_next_version */
    ab_map *files;
    ab_map *entries;
    ab_dir_file *dirty_first;
    ab_dir_file *dirty_last;
    struct ab_dir_load *load;
    ab_dir_op *held_first; /* operations asked for before the first listing was read */
    ab_dir_op *held_last;
    size_t ops;      /* accepted and not reported */
    size_t missing;  /* entries that are missing */
    size_t broken;   /* files that are broken */
    size_t unlisted; /* folders that could not be listed */
    bool started;
    bool listed; /* the first listing was read */
    bool synced;
    bool lost; /* the root itself is gone: nothing that is missing is deleted */
    bool stopping;
    int handles;      /* open libuv handles */
    uv_timer_t grace; /* runs while entries are missing */
    uv_timer_t retry; /* reads again what failed for lack of space */
    int64_t retry_ms;
    struct ab_dir_watch *watch;
    void (*stopped)(void *arg);
    void *stopped_arg;
    ab_metric *objects;
};

/* index.c */
/** Split a path or build one; false when it has not the form. */
bool ab_place_of(const char *path, ab_place *out);
/** Are these credentials, which nobody else on this machine may read? */
bool ab_place_is_secret(const ab_place *place);
/** The file, made known if it is not. NULL when out of memory. */
ab_dir_file *ab_dir_file_at(ab_dir *d, const char *path);
/** Forget a file that nothing refers to. */
void ab_dir_file_drop_unused(ab_dir *d, ab_dir_file *f);
ab_dir_entry *ab_dir_entry_find(const ab_dir *d, const char *key);
/** A new entry of `f`. NULL when out of memory. */
ab_dir_entry *ab_dir_entry_add(ab_dir *d, ab_dir_file *f, const char *key);
/** The object is in another file now; what waits for it goes along. */
void ab_dir_entry_move(ab_dir *d, ab_dir_entry *e, ab_dir_file *to);
/** Free the entry; the conflicting file is read again. */
void ab_dir_entry_remove(ab_dir *d, ab_dir_entry *e);
void ab_dir_file_set_broken(ab_dir *d, ab_dir_file *f, bool broken);
void ab_dir_index_fini(ab_dir *d);

/* directory.c */
/** A resourceVersion larger than all before, also before the last start. Any thread. */
uint64_t ab_dir_next_version(ab_dir *d);
/** Run a job on a worker and `after` on the loop. */
void ab_dir_work(ab_dir *d, uv_work_t *work, uv_work_cb run, uv_after_work_cb after);
/** Report a fault and count it. */
void ab_dir_fault(ab_dir *d, const char *where, const ab_error *err);
/** Report an object if its version was not reported yet, and remember what its deletion will
 * report. */
void ab_dir_report(ab_dir *d, ab_dir_entry *e, ab_object *object);
/** Report that it is gone, and free the entry. `last` NULL: report what was kept. */
void ab_dir_report_gone(ab_dir *d, ab_dir_entry *e, ab_object *last);
/** Something ended: finish stopping if that was the last. */
void ab_dir_finish_stop(ab_dir *d);

/* load.c */
/** The file may have changed. Reading begins when nothing else is being read. */
void ab_dir_touch(ab_dir *d, ab_dir_file *f);
void ab_dir_load_next(ab_dir *d);

/* missing.c */
/** Its file has it no longer, or some file has it again. */
void ab_dir_entry_set_missing(ab_dir *d, ab_dir_entry *e, bool missing);
/** Something else than an event of its own has this file read: what it lacks, or is found to lack
 * then, is not observed to have been deleted. */
void ab_dir_file_set_relisted(ab_dir_file *f);
/** Have another file that has the object too read again: it may take it over. */
void ab_dir_entry_reload_conflicting(ab_dir *d, ab_dir_entry *e);
/** Entries are missing: look after the grace time. */
void ab_dir_grace_start(ab_dir *d);

/* queue.c */
/** Accept an operation, which is moved. */
void ab_dir_submit(ab_dir *d, ab_dir_op *op);
/** A new operation; reports NOMEM to `done` at once and gives NULL when there is no memory. */
ab_dir_op *ab_dir_op_new(ab_dir *d, ab_dir_verb verb, ab_str key, ab_store_done done, void *arg);
/** Begin the next operation that waits for `f`, if any may begin. */
void ab_dir_dispatch(ab_dir *d, ab_dir_file *f);
/** The first listing was read: begin what was held. */
void ab_dir_release(ab_dir *d);

/* write.c */
/** Run an operation. Worker. */
void ab_dir_op_run(ab_dir_op *op);
/** Read a sidecar. @return NOTFOUND; INVALID (broken: says what to do); IO, NOMEM. Worker. */
AB_MUST_USE ab_err ab_dir_sidecar_read(int meta, const char *name, ab_sidecar *out, ab_error *err);
/** Write a sidecar; the folder is not synced yet. Worker. */
AB_MUST_USE ab_err ab_dir_sidecar_write(int meta, const char *name, const ab_sidecar *s,
                                        ab_error *err);
/** Make `s` (zeroed or read) the sidecar of what `m` in `file` says now: uid, generation, version.
 * Worker. */
AB_MUST_USE ab_err ab_dir_sidecar_advance(ab_dir *d, ab_sidecar *s, const ab_manifest *m,
                                          const char *file, int64_t now_us, ab_error *err);

/* listing.c */
/** Remove sidecars whose objects are gone. After the first listing was read. */
void ab_dir_sweep(ab_dir *d);

/* watch.c */
/** Begin to watch and touch every manifest that is there. @return IO */
AB_MUST_USE ab_err ab_dir_watch_start(ab_dir *d, ab_error *err);
/** Close the descriptors and handles; ab_dir_finish_stop follows. */
void ab_dir_watch_stop(ab_dir *d);
void ab_dir_watch_free(ab_dir *d);
