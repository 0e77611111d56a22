/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a configuration file. What is accepted must print, and what was printed must be
 * accepted again and print the same (but for the comments that name the origins).
 */
#include "base/config/config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ab_option rows[] = {
    {.name = "kafka.brokers", .kind = AB_OPT_LIST, .help = ""},
    {.name = "kafka.prefix", .kind = AB_OPT_STRING, .deflt = "argobus", .help = ""},
    {.name = "kafka.tls.ca", .kind = AB_OPT_FILE, .help = ""},
    {.name = "kafka.librdkafka", .kind = AB_OPT_MAP, .help = ""},
    {.name = "transport", .kind = AB_OPT_ENUM, .choices = "kafka|grpc", .help = ""},
    {.name = "agents", .kind = AB_OPT_OBJECTS, .choices = "name|mode", .help = ""},
    {.name = "sync.workers", .kind = AB_OPT_INT, .min = 1, .max = 64, .help = ""},
    {.name = "sync.guard", .kind = AB_OPT_BOOL, .help = ""},
    {.name = "sync.wait", .kind = AB_OPT_DURATION, .deflt = "30s", .help = ""},
    {.name = "store.max-size", .kind = AB_OPT_SIZE, .deflt = "4MiB", .help = ""},
};
static const ab_options table = {rows, sizeof(rows) / sizeof(rows[0])};

/* A configuration from these bytes, NULL when they are refused. */
static ab_config *load(const void *data, size_t size)
{
    char path[64];
    int fd = memfd_create("config", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ab_config_sources sources = {.file = path};
    ab_config *c = NULL;
    ab_error err = {0};
    ab_err e = ab_config_load(&table, 1, &sources, &c, &err);
    close(fd);
    if (e != AB_ERR_OK && (e != AB_ERR_CONFIG || err.text[0] == '\0' || c != NULL))
        abort();
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_config *c = load(data, size);
    if (c == NULL)
        return 0;
    ab_buf text;
    ab_buf names;
    ab_buf_init(&text, 1u << 24);
    ab_buf_init(&names, 4096);
    ab_config_print(c, &text);
    bool hidden = memmem(text.ptr, text.len, "<redacted>", 10) != NULL;
    bool fits = ab_buf_status(&text) == AB_ERR_OK && text.len <= 1u << 20;
    ab_config *again = fits ? load(text.ptr, text.len) : NULL;
    if (fits && again == NULL)
        abort();
    if (again != NULL)
        ab_config_restart_needed(c, again, &names);
    if (names.len > 0 && !hidden)
        abort();
    ab_config_free(again);
    ab_config_free(c);
    ab_buf_fini(&text);
    ab_buf_fini(&names);
    return 0;
}
