/* SPDX-License-Identifier: Apache-2.0
 *
 * One line per call, built in a buffer that is kept and written with one write(2), so that lines of
 * several processes sharing a descriptor do not mix. Whatever a value holds, it cannot end the line
 * or speak to the terminal: control characters are escaped in both formats.
 */
#include "base/observe/log.h"

#include "base/core/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A longer value is cut: a log line is for reading. */
#define VALUE_MAX      2048
#define LINE_MAX_BYTES (256u * 1024)

struct ab_log {
    int fd;
    ab_log_format format;
    const ab_clock *clock;
    ab_log_level levels[AB_AREA_COUNT];
    ab_buf line;
};

static const char *const area_names[] = {
#define AREA_NAME(id, name) name,
    AB_LOG_AREAS(AREA_NAME)
#undef AREA_NAME
};

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *const level_columns[] = {"ERROR", "WARN ", "INFO ", "DEBUG"};

static bool find_level(ab_str word, ab_log_level *out)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
        if (ab_str_is(word, level_names[i])) {
            *out = (ab_log_level)i;
            return true;
        }
    }
    return false;
}

static bool find_area(ab_str word, size_t *out)
{
    for (size_t i = 0; i < AB_AREA_COUNT; i++) {
        if (ab_str_is(word, area_names[i])) {
            *out = i;
            return true;
        }
    }
    return false;
}

static ab_err unknown_area(ab_str word, ab_error *err)
{
    ab_buf names = ab_buf_up_to(256);
    for (size_t i = 0; i < AB_AREA_COUNT; i++)
        ab_buf_printf(&names, "%s%s", i == 0 ? "" : ", ", area_names[i]);
    ab_err e = ab_fail(err, AB_ERR_CONFIG, "unknown log area \"%.*s\": the areas are %.*s",
                       AB_STR_ARG(word), AB_STR_ARG(ab_buf_str(&names)));
    ab_buf_fini(&names);
    return e;
}

/* The levels as written: one for all areas, and those that are set apart. */
typedef struct {
    ab_log_level all;
    ab_log_level level[AB_AREA_COUNT];
    bool apart[AB_AREA_COUNT];
} level_spec;

/* One word: "info" or "kafka=debug". */
static ab_err parse_level_word(ab_str word, level_spec *spec, ab_error *err)
{
    const char *eq = word.len == 0 ? NULL : memchr(word.ptr, '=', word.len);
    size_t area = 0;
    ab_str level = word;
    if (eq != NULL) {
        ab_str name = ab_str_cut(&level, '=');
        if (!find_area(name, &area))
            return unknown_area(name, err);
        spec->apart[area] = true;
    }
    if (!find_level(level, eq == NULL ? &spec->all : &spec->level[area]))
        return ab_fail(err, AB_ERR_CONFIG,
                       "unknown log level \"%.*s\": use error, warn, info or debug, "
                       "for one area with kafka=debug",
                       AB_STR_ARG(level));
    return AB_ERR_OK;
}

ab_err ab_log_set_levels(ab_log *log, const char *levels, ab_error *err)
{
    level_spec spec = {.all = AB_LOG_INFO};
    ab_str rest = ab_str_of(levels);
    while (rest.ptr != NULL) {
        ab_err e = parse_level_word(ab_str_cut(&rest, ','), &spec, err);
        if (e != AB_ERR_OK)
            return e;
    }
    for (size_t i = 0; i < AB_AREA_COUNT; i++)
        log->levels[i] = spec.apart[i] ? spec.level[i] : spec.all;
    return AB_ERR_OK;
}

ab_err ab_log_new(int fd, const char *levels, ab_log_format format, const ab_clock *clock,
                  ab_log **out, ab_error *err)
{
    ab_log *log = calloc(1, sizeof(*log));
    if (log == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    log->fd = fd;
    log->format = format;
    log->clock = clock;
    ab_buf_init(&log->line, LINE_MAX_BYTES);
    ab_err e = ab_log_set_levels(log, levels, err);
    if (e != AB_ERR_OK) {
        ab_log_free(log);
        return e;
    }
    *out = log;
    return AB_ERR_OK;
}

void ab_log_free(ab_log *log)
{
    if (log == NULL)
        return;
    ab_buf_fini(&log->line);
    free(log);
}

bool ab_log_on(const ab_log *log, ab_log_area area, ab_log_level level)
{
    return log != NULL && level <= log->levels[area];
}

static void put_escaped_byte(ab_buf *b, unsigned char c, ab_log_format format)
{
    if (c == '"' || c == '\\')
        ab_buf_printf(b, "\\%c", c);
    else if (c == '\n')
        ab_buf_puts(b, "\\n");
    else if (c == '\t')
        ab_buf_puts(b, "\\t");
    else if (c < 0x80)
        ab_buf_printf(b, "\\u%04x", c);
    else if (format == AB_LOG_JSON)
        ab_buf_puts(b, "\\ufffd");
    else
        ab_buf_printf(b, "\\x%02x", c);
}

/* U+0080 to U+009F: terminals take them for the start of a control sequence. */
static bool is_c1_control(const char *seq, size_t len)
{
    return len == 2 && (unsigned char)seq[0] == 0xc2 && (unsigned char)seq[1] < 0xa0;
}

static void put_escaped(ab_buf *b, ab_str s, ab_log_format format)
{
    size_t i = 0;
    while (i < s.len && i < VALUE_MAX) {
        unsigned char c = (unsigned char)s.ptr[i];
        size_t len = ab_utf8_length((ab_str){s.ptr + i, s.len - i});
        bool plain = len == 1 && c >= 0x20 && c != 0x7f && c != '"' && c != '\\';
        if (plain || (len > 1 && !is_c1_control(s.ptr + i, len)))
            ab_buf_put(b, (ab_str){s.ptr + i, len});
        else if (len == 2)
            ab_buf_printf(b, "\\u%04x", (unsigned char)s.ptr[i + 1]);
        else
            put_escaped_byte(b, c, format);
        i += len == 0 ? 1 : len;
    }
    if (i < s.len)
        ab_buf_puts(b, "...");
}

static void put_quoted(ab_buf *b, ab_str s, ab_log_format format)
{
    ab_buf_putc(b, '"');
    put_escaped(b, s, format);
    ab_buf_putc(b, '"');
}

/* Words need no quotes in the text format. */
static bool is_word(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~' || strchr("\"\\=", s.ptr[i]) != NULL)
            return false;
    }
    return s.len > 0 && s.len <= VALUE_MAX;
}

static void put_value(ab_buf *b, const ab_field *f, ab_log_format format)
{
    switch (f->kind) {
    case AB_FIELD_INT:
        ab_buf_printf(b, "%" PRId64, f->num);
        break;
    case AB_FIELD_BOOL:
        ab_buf_puts(b, f->num != 0 ? "true" : "false");
        break;
    case AB_FIELD_STR:
        if (format == AB_LOG_JSON && f->str.ptr == NULL)
            ab_buf_puts(b, "null");
        else if (format == AB_LOG_TEXT && is_word(f->str))
            ab_buf_put(b, f->str);
        else
            put_quoted(b, f->str, format);
        break;
    }
}

static void put_text_line(ab_buf *b, const char *time, ab_log_area area, ab_log_level level,
                          const char *message, const ab_field *fields, size_t count)
{
    ab_buf_printf(b, "%s %s %s: ", time, level_columns[level], area_names[area]);
    put_escaped(b, ab_str_of(message), AB_LOG_TEXT);
    for (size_t i = 0; i < count; i++) {
        ab_buf_printf(b, " %s=", fields[i].name);
        put_value(b, &fields[i], AB_LOG_TEXT);
    }
    ab_buf_putc(b, '\n');
}

static void put_json_line(ab_buf *b, const char *time, ab_log_area area, ab_log_level level,
                          const char *message, const ab_field *fields, size_t count)
{
    ab_buf_printf(b, "{\"time\":\"%s\",\"level\":\"%s\",\"area\":\"%s\",\"msg\":", time,
                  level_names[level], area_names[area]);
    put_quoted(b, ab_str_of(message), AB_LOG_JSON);
    for (size_t i = 0; i < count; i++) {
        ab_buf_printf(b, ",\"%s\":", fields[i].name);
        put_value(b, &fields[i], AB_LOG_JSON);
    }
    ab_buf_puts(b, "}\n");
}

void ab_log_write(ab_log *log, ab_log_area area, ab_log_level level, const char *message,
                  const ab_field *fields, size_t count)
{
    /* Callers log what they are about to return or have just seen: errno is theirs. */
    int saved = errno;
    char time[AB_TIME_TEXT];
    ab_time_format_ms(ab_clock_wall_us(log->clock), time);
    ab_buf_clear(&log->line);
    if (log->format == AB_LOG_JSON)
        put_json_line(&log->line, time, area, level, message, fields, count);
    else
        put_text_line(&log->line, time, area, level, message, fields, count);
    if (ab_buf_status(&log->line) == AB_ERR_OK) {
        ab_str line = ab_buf_str(&log->line);
        while (write(log->fd, line.ptr, line.len) < 0 && errno == EINTR)
            continue;
    }
    errno = saved;
}

ab_field ab_field_cstr(const char *name, const char *v)
{
    return (ab_field){.name = name, .kind = AB_FIELD_STR, .str = ab_str_of(v)};
}

ab_field ab_field_str(const char *name, ab_str v)
{
    return (ab_field){.name = name, .kind = AB_FIELD_STR, .str = v};
}

ab_field ab_field_int(const char *name, int64_t v)
{
    return (ab_field){.name = name, .kind = AB_FIELD_INT, .num = v};
}

ab_field ab_field_uint(const char *name, uint64_t v)
{
    return ab_field_int(name, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

ab_field ab_field_bool(const char *name, bool v)
{
    return (ab_field){.name = name, .kind = AB_FIELD_BOOL, .num = v};
}
