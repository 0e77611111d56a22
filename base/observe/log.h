/* SPDX-License-Identifier: Apache-2.0
 *
 * Structured logging: a constant message and typed fields, level per area, as text (logfmt) or JSON
 * lines. Fields are not evaluated when the level is off. Never give it a spec, a token or a key.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/clock.h"

typedef enum { AB_LOG_ERROR, AB_LOG_WARN, AB_LOG_INFO, AB_LOG_DEBUG } ab_log_level;
typedef enum { AB_LOG_TEXT, AB_LOG_JSON } ab_log_format;

/* Areas whose level can be set apart. A new area is a row here. */
/* clang-format off: one row per area */
#define AB_LOG_AREAS(X)                                                                            \
    X(MAIN, "main")                                                                                \
    X(CONFIG, "config")                                                                            \
    X(STORE, "store")                                                                              \
    X(SYNC, "sync")                                                                                \
    X(TRANSPORT, "transport")                                                                      \
    X(KAFKA, "kafka")                                                                              \
    X(HTTP, "http")                                                                                \
    X(AUTH, "auth")                                                                                \
    X(LIVE, "live")
/* clang-format on */
typedef enum {
#define AB_LOG_AREA_ENUM(id, name) AB_AREA_##id,
    AB_LOG_AREAS(AB_LOG_AREA_ENUM)
#undef AB_LOG_AREA_ENUM
        AB_AREA_COUNT
} ab_log_area;

typedef struct {
    const char *name;
    enum { AB_FIELD_STR, AB_FIELD_INT, AB_FIELD_BOOL } kind;
    ab_str str;
    int64_t num;
} ab_field;

typedef struct ab_log ab_log;

/**
 * @param fd      where lines go, each with one write(2); not closed
 * @param levels  "info" or "info,kafka=debug,store=warn"
 * @param out     owned by the caller
 * @return CONFIG with the unknown word named
 */
AB_MUST_USE ab_err ab_log_new(int fd, const char *levels, ab_log_format format,
                              const ab_clock *clock, ab_log **out, ab_error *err);
void ab_log_free(ab_log *log);
/** Change the levels while running (SIGHUP). On error nothing changes. Loop thread. */
AB_MUST_USE ab_err ab_log_set_levels(ab_log *log, const char *levels, ab_error *err);
/** NULL log: false. */
bool ab_log_on(const ab_log *log, ab_log_area area, ab_log_level level);
/** Write one line. Use the macros. Loop thread. */
void ab_log_write(ab_log *log, ab_log_area area, ab_log_level level, const char *message,
                  const ab_field *fields, size_t count);

ab_field ab_field_cstr(const char *name, const char *v);
ab_field ab_field_str(const char *name, ab_str v);
ab_field ab_field_int(const char *name, int64_t v);
/** Above INT64_MAX it is logged as INT64_MAX. */
ab_field ab_field_uint(const char *name, uint64_t v);
ab_field ab_field_bool(const char *name, bool v);
/* AB_KV("agent", name): char pointer, ab_str, bool or any integer. */
#define AB_KV(name, v)                                                                             \
    _Generic((v),                                                                                  \
        char *: ab_field_cstr,                                                                     \
        const char *: ab_field_cstr,                                                               \
        ab_str: ab_field_str,                                                                      \
        bool: ab_field_bool,                                                                       \
        unsigned long: ab_field_uint,                                                              \
        unsigned long long: ab_field_uint,                                                         \
        default: ab_field_int)(name, v)

/* The closing field keeps the list from being empty, which C11 would not allow. */
#define AB_LOG(log, area, level, ...) AB_LOG_LINE(log, area, level, __VA_ARGS__, (ab_field){0})
#define AB_LOG_LINE(log, area, level, message, ...)                                                \
    do {                                                                                           \
        if (ab_log_on(log, AB_AREA_##area, level)) {                                               \
            const ab_field ab_fields_[] = {__VA_ARGS__};                                           \
            ab_log_write(log, AB_AREA_##area, level, message, ab_fields_,                          \
                         sizeof(ab_fields_) / sizeof(ab_fields_[0]) - 1);                          \
        }                                                                                          \
    } while (0)
/* AB_INFO(log, KAFKA, "event sent", AB_KV("agent", name), AB_KV("bytes", n)); */
#define AB_ERROR(log, area, ...) AB_LOG(log, area, AB_LOG_ERROR, __VA_ARGS__)
#define AB_WARN(log, area, ...)  AB_LOG(log, area, AB_LOG_WARN, __VA_ARGS__)
#define AB_INFO(log, area, ...)  AB_LOG(log, area, AB_LOG_INFO, __VA_ARGS__)
#define AB_DEBUG(log, area, ...) AB_LOG(log, area, AB_LOG_DEBUG, __VA_ARGS__)
