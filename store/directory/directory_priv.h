/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a directory store, which its modules share. They call downwards only:
 *
 *   directory.c  the store's interface
 *   watch.c      inotify says what may have changed
 *   load.c       has touched files read, a batch at a time (batch.c), and reports what changed
 *   listing.c    folders and their names, at start and when inotify says so -> ab_dir_touch
 *   folders.c    the folders that inotify watches
 *   missing.c    objects that their files no longer have
 *   queue.c      operations wait here, one line per file, and end here
 *   write.c      what an operation does on a worker
 *   report.c     what the owner of the store is told
 *   index.c      the files and objects known
 *   record.c     sidecars on disk
 *
 * A file is worked on by one job at a time (`busy`), so a reader never meets a half-made change of
 * ours and the sidecars of a file's objects have one writer. All of this lives on the loop thread;
 * a worker sees only its own job, `root` and `versions`.
 */
#pragma once

#include "base/core/digest.h"
#include "base/core/map.h"
#include "store/op.h"

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
    const char *path;  /* "<namespace>/<kind>/<file>" */
    ab_digest digest;  /* of the text last read or written; none when there is no such file */
    size_t documents;  /* in that text, or in the one before when it cannot be read */
    bool broken;       /* has faults: it may hold objects that we do not know */
    int64_t broken_ms; /* when what it holds was found to be so */
    bool dirty;        /* may have changed: to be read before anything else is done with it */
    bool busy;         /* a job works on it */
    bool loading;      /* that job reads it */
    bool must_read;    /* read it although its text is the same */
    bool relisted;     /* what it lacks when it is read next was not observed to go */
    bool relisting;    /* so it is with what is being read of it */
    bool writing; /* somebody has it open and has written to it: it is read when it is closed */
    bool partial; /* was written just before the start, and not closed since: it may hold but a
                       part of what it will */
    bool second;  /* another file has precedence for an object of it, and was read */
    ab_dir_file *next_dirty;
    ab_dir_entry *entries;
    ab_store_line ops; /* that wait for it */
};

/* An object that exists. */
struct ab_dir_entry {
    const char *key;
    ab_dir_file *file;
    ab_dir_entry *next; /* in the same file */
    uint64_t version;   /* last reported; 0: none yet */
    char *head;         /* JSON: what its deletion will report; NULL before the first report */
    char *conflicting;  /* path of another file that has it too, NULL when none is known */
    bool missing;       /* its file does not have it; gone when that lasts */
    bool unobserved;    /* and inotify did not tell so of this very file */
    int64_t missing_since_ms;
    bool held;     /* not gone though it is missing for so long: a broken file may hold it */
    bool held_now; /* likewise, while missing.c finds out */
};

/* The folders that are watched. */
typedef struct {
    int fd; /* inotify's */
    struct ab_dir_folder *items;
    size_t count;
    size_t room;
} ab_dir_folders;

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
    ab_store_line held; /* operations asked for before the first listing was read */
    size_t ops;         /* accepted and not reported */
    size_t missing;     /* entries that are missing */
    size_t broken;      /* files that are broken */
    size_t unlisted;    /* folders that could not be listed */
    size_t partial;     /* files that are partial */
    bool started;
    bool listed;   /* the first listing was read */
    bool sweeping; /* before `listed` is set */
    bool waited;   /* likewise, for files that were moved away just before the start */
    bool synced;
    bool lost;      /* the root is not at `path`: nothing that is missing is deleted */
    bool unmounted; /* a folder below it was unmounted: likewise, until the next start */
    bool stopping;
    void (*read_dirty)(ab_dir *d); /* load.c's: queue.c, below it, says that files may be read */
    void (*see_events)(ab_dir *d); /* watch.c's: those below it ask what inotify has told */
    int handles;                   /* open libuv handles */
    uv_timer_t grace;              /* runs while entries are missing */
    uv_timer_t retry;              /* reads again what failed for lack of space */
    uv_timer_t reread; /* reads again what was written, or looks again for what was moved
                          away, just before the start */
    int64_t retry_ms;
    ab_dir_folders folders;
    uv_poll_t watch; /* of folders.fd */
    uv_timer_t look; /* whether the root is where it was */
    void (*stopped)(void *arg);
    void *stopped_arg;
    ab_metric *objects;
};
