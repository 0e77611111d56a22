/* SPDX-License-Identifier: Apache-2.0 */
#include "base/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const ab_option kafka_rows[] = {
    {.name = "kafka.brokers", .kind = AB_OPT_LIST, .help = "Where to begin."},
    {.name = "kafka.prefix", .kind = AB_OPT_STRING, .deflt = "argobus", .help = "Of topics."},
    {.name = "kafka.tls.ca", .kind = AB_OPT_FILE, .help = "Certificates."},
    {.name = "kafka.sasl.password", .kind = AB_OPT_STRING, .secret = true, .help = "Word."},
    {.name = "kafka.librdkafka", .kind = AB_OPT_MAP, .help = "Passed through."},
};
static const ab_option main_rows[] = {
    {.name = "transport",
     .kind = AB_OPT_ENUM,
     .deflt = "kafka",
     .choices = "kafka|grpc",
     .help = "The bus."},
    {.name = "agents",
     .kind = AB_OPT_OBJECTS,
     .choices = "name|mode|certificate",
     .paths = "certificate",
     .reloadable = true,
     .help = "Known agents."},
    {.name = "sync.workers",
     .kind = AB_OPT_INT,
     .deflt = "4",
     .min = 1,
     .max = 64,
     .help = "At once."},
    {.name = "sync.guard", .kind = AB_OPT_BOOL, .deflt = "true", .help = "Guards."},
    {.name = "sync.wait",
     .kind = AB_OPT_DURATION,
     .deflt = "30s",
     .min = 1000,
     .max = 7200000,
     .reloadable = true,
     .help = "Waits."},
    {.name = "store.max-size", .kind = AB_OPT_SIZE, .deflt = "4MiB", .help = "Largest."},
    {.name = "store.folder", .kind = AB_OPT_PATH, .help = "Where."},
};
static const ab_options tables[] = {
    {kafka_rows, sizeof(kafka_rows) / sizeof(kafka_rows[0])},
    {main_rows, sizeof(main_rows) / sizeof(main_rows[0])},
};

static char folder[64]; /* of this test's files */

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/config_test.XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"agent.yaml", "ca.crt", "hidden"};
    char path[128];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, ab_str text)
{
    FILE *f = fopen(path_of(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text.ptr, 1, text.len, f), text.len);
    assert_int_equal(fclose(f), 0);
}

/* Load from these sources, each of which may be NULL; env and set end with NULL. */
static ab_err load(const char *yaml, char *const *env, const char *const *set, ab_config **out,
                   ab_error *err)
{
    char file[128];
    snprintf(file, sizeof(file), "%s", path_of("agent.yaml"));
    ab_config_sources sources = {.env = env, .set = set};
    if (yaml != NULL) {
        write_file("agent.yaml", ab_str_of(yaml));
        sources.file = file;
    }
    while (set != NULL && set[sources.set_count] != NULL)
        sources.set_count++;
    return ab_config_load(tables, 2, &sources, out, err);
}

static ab_config *loaded(const char *yaml, char *const *env, const char *const *set)
{
    ab_config *c = NULL;
    ab_error err = {0};
    if (load(yaml, env, set, &c, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    return c;
}

/* The configuration is refused with exactly this text, behind the folder of the file. */
static void refused(const char *yaml, char *const *env, const char *const *set, const char *want)
{
    ab_config *c = NULL;
    ab_error err = {0};
    assert_int_equal(load(yaml, env, set, &c, &err), AB_ERR_CONFIG);
    assert_null(c);
    const char *text = err.text;
    size_t len = strlen(folder);
    assert_string_equal(strncmp(text, folder, len) == 0 ? text + len + 1 : text, want);
}

static void refused_file(const char *yaml, const char *want)
{
    refused(yaml, NULL, NULL, want);
}

static void refused_set(const char *set, const char *want)
{
    const char *const all[] = {set, NULL};
    refused(NULL, NULL, all, want);
}

static void refused_env(const char *variable, const char *want)
{
    char copy[256];
    snprintf(copy, sizeof(copy), "%s", variable);
    char *const all[] = {copy, NULL};
    refused(NULL, all, NULL, want);
}

static void without_sources_the_defaults_are_in_force(void **state)
{
    (void)state;
    ab_config *c = loaded(NULL, NULL, NULL);
    assert_string_equal(ab_config_str(c, "transport"), "kafka");
    assert_true(ab_config_is(c, "transport", "kafka"));
    assert_false(ab_config_is(c, "transport", "grpc"));
    assert_int_equal(ab_config_int(c, "sync.workers"), 4);
    assert_int_equal(ab_config_int(c, "sync.wait"), 30000);
    assert_int_equal(ab_config_int(c, "store.max-size"), 4 << 20);
    assert_true(ab_config_bool(c, "sync.guard"));
    assert_null(ab_config_str(c, "kafka.tls.ca"));
    assert_false(ab_config_is(c, "kafka.tls.ca", ""));
    assert_int_equal(ab_config_count(c, "kafka.brokers"), 0);
    assert_int_equal(ab_config_count(c, "agents"), 0);
    assert_false(ab_config_is_set(c, "transport"));
    ab_config_free(c);
}

static void a_file_sets_every_kind_of_option(void **state)
{
    (void)state;
    write_file("ca.crt", AB_STR("x"));
    ab_config *c = loaded("transport: grpc\n"
                          "kafka:\n"
                          "  brokers: [a:1, \"b:2\"]\n"
                          "  tls: {ca: ca.crt}\n"
                          "  librdkafka: {linger.ms: \"5\", debug: all}\n"
                          "sync: {workers: 9, guard: false, wait: 2h}\n"
                          "store: {max-size: 64KiB, folder: data}\n"
                          "agents:\n"
                          "- {name: w1, mode: managed, certificate: w1.crt}\n"
                          "- {name: w2, certificate: /etc/w2.crt}\n",
                          NULL, NULL);
    assert_string_equal(ab_config_str(c, "transport"), "grpc");
    assert_int_equal(ab_config_count(c, "kafka.brokers"), 2);
    assert_string_equal(ab_config_item(c, "kafka.brokers", 1), "b:2");
    assert_string_equal(ab_config_str(c, "kafka.tls.ca"), path_of("ca.crt"));
    assert_string_equal(ab_config_str(c, "store.folder"), path_of("data"));
    const char *key = NULL;
    const char *value = NULL;
    assert_int_equal(ab_config_count(c, "kafka.librdkafka"), 2);
    ab_config_pair(c, "kafka.librdkafka", 0, &key, &value);
    assert_string_equal(key, "linger.ms");
    assert_string_equal(value, "5");
    assert_int_equal(ab_config_int(c, "sync.workers"), 9);
    assert_int_equal(ab_config_int(c, "sync.wait"), 7200000);
    assert_int_equal(ab_config_int(c, "store.max-size"), 65536);
    assert_false(ab_config_bool(c, "sync.guard"));
    assert_int_equal(ab_config_count(c, "agents"), 2);
    assert_string_equal(ab_config_field(c, "agents", 0, "mode"), "managed");
    assert_string_equal(ab_config_field(c, "agents", 1, "name"), "w2");
    assert_null(ab_config_field(c, "agents", 1, "mode"));
    assert_string_equal(ab_config_field(c, "agents", 0, "certificate"), path_of("w1.crt"));
    assert_string_equal(ab_config_field(c, "agents", 1, "certificate"), "/etc/w2.crt");
    assert_true(ab_config_is_set(c, "transport"));
    ab_config_free(c);
}

static void dotted_keys_and_empty_sections_are_read(void **state)
{
    (void)state;
    ab_config *c = loaded("kafka.prefix: x\nkafka:\n  tls:\nsync: {}\n", NULL, NULL);
    assert_string_equal(ab_config_str(c, "kafka.prefix"), "x");
    ab_config_free(c);
    c = loaded("# nothing but a comment\n", NULL, NULL);
    ab_config_free(c);
}

static void the_environment_is_above_the_file_and_set_above_both(void **state)
{
    (void)state;
    char prefix[] = "ARGOBUS_KAFKA_PREFIX=env";
    char brokers[] = "ARGOBUS_KAFKA_BROKERS=a:1,b:2";
    char size[] = "ARGOBUS_STORE_MAX_SIZE=5";
    char other[] = "HOME=/x";
    char *const env[] = {other, prefix, brokers, size, NULL};
    const char *const set[] = {"kafka.prefix=set", "kafka.librdkafka.linger.ms=7",
                               "kafka.librdkafka.linger.ms=5", "sync.wait=0s", NULL};
    const char *yaml = "kafka: {prefix: file, librdkafka: {a: b}}\n";
    ab_config *c = loaded(yaml, env, NULL);
    assert_string_equal(ab_config_str(c, "kafka.prefix"), "env");
    assert_string_equal(ab_config_item(c, "kafka.brokers", 1), "b:2");
    assert_int_equal(ab_config_int(c, "store.max-size"), 5);
    ab_config_free(c);
    refused(yaml, env, set, "--set: sync.wait: 0s is below the smallest value 1s");
    const char *const good[] = {set[0], set[1], set[2], NULL};
    c = loaded(yaml, env, good);
    const char *key = NULL;
    const char *value = NULL;
    assert_string_equal(ab_config_str(c, "kafka.prefix"), "set");
    assert_int_equal(ab_config_count(c, "kafka.librdkafka"), 2);
    ab_config_pair(c, "kafka.librdkafka", 1, &key, &value);
    assert_string_equal(key, "linger.ms");
    assert_string_equal(value, "5");
    ab_config_free(c);
}

static void an_empty_variable_takes_a_path_or_list_back(void **state)
{
    (void)state;
    char list[] = "ARGOBUS_KAFKA_BROKERS=";
    char path[] = "ARGOBUS_KAFKA_TLS_CA=";
    char *const env[] = {list, path, NULL};
    write_file("ca.crt", AB_STR("x"));
    ab_config *c = loaded("kafka: {brokers: [a], tls: {ca: ca.crt}}\n", env, NULL);
    assert_int_equal(ab_config_count(c, "kafka.brokers"), 0);
    assert_null(ab_config_str(c, "kafka.tls.ca"));
    ab_config_free(c);
}

static void an_unknown_key_is_named_with_its_line_and_the_nearest(void **state)
{
    (void)state;
    refused_file(
        "transport: kafka\n# kafka.broker: here\nkafka:\n  prefix: broker\n  broker: [a]\n",
        "agent.yaml:5: unknown key \"kafka.broker\": did you mean \"kafka.brokers\"?");
    refused_file("kafak: {prefix: a}\n",
                 "agent.yaml:1: unknown key \"kafak\": did you mean \"kafka\"?");
    refused_file("brokers: [a]\n",
                 "agent.yaml:1: unknown key \"brokers\": did you mean \"kafka.brokers\"?");
    refused_file("kafka: {tls: {ac: x}}",
                 "agent.yaml:1: unknown key \"kafka.tls.ac\": did you mean \"kafka.tls.ca\"?");
    refused_file(
        "\n\"quite different\": 1\n",
        "agent.yaml:2: unknown key \"quite different\": --print-options lists what there is");
    refused_set("kafka.prefx=a",
                "--set: unknown key \"kafka.prefx\": did you mean \"kafka.prefix\"?");
    refused_env("ARGOBUS_KAFKA_BROKER=a", "environment: unknown variable \"ARGOBUS_KAFKA_BROKER\": "
                                          "the nearest is \"ARGOBUS_KAFKA_BROKERS\"");
}

static void the_hint_for_set_is_an_option_where_a_section_is_nearest(void **state)
{
    (void)state;
    refused_set("kafka.tls=a", "--set: unknown key \"kafka.tls\": did you mean an option of the "
                               "section \"kafka.tls\", like \"kafka.tls.ca\"?");
    refused_set("kafak=a", "--set: unknown key \"kafak\": did you mean an option of the section "
                           "\"kafka\", like \"kafka.brokers\"?");
    refused_set("kafka.tls.cs=a",
                "--set: unknown key \"kafka.tls.cs\": did you mean \"kafka.tls.ca\"?");
    refused_set("quite different=a",
                "--set: unknown key \"quite different\": --print-options lists what there is");
}

static void lines_are_right_also_behind_equal_keys_and_comments(void **state)
{
    (void)state;
    refused_file("kafka:\n  librdkafka:\n    prefix: \"1\"\n  prefix: 5\n",
                 "agent.yaml:4: kafka.prefix: expected text, got the number 5: put it in quotes");
    refused_file("kafka:\n  # prefix: 5\n  prefix: 5 # prefix: 5\n",
                 "agent.yaml:3: kafka.prefix: expected text, got the number 5: put it in quotes");
    refused_file("kafka:\n  brokers: [prefix]\n  \"prefix\" : 5\n",
                 "agent.yaml:3: kafka.prefix: expected text, got the number 5: put it in quotes");
}

static void a_wrong_type_says_what_is_wanted_and_what_was_given(void **state)
{
    (void)state;
    refused_file("kafka: {prefix: 123}",
                 "agent.yaml:1: kafka.prefix: expected text, got the number 123: put it in quotes");
    refused_file(
        "kafka:\n  prefix: yes\n",
        "agent.yaml:2: kafka.prefix: expected text, got the switch true: put it in quotes");
    refused_file("kafka: {prefix: [a]}", "agent.yaml:1: kafka.prefix: expected text, got a list");
    refused_file("kafka: {brokers: a}",
                 "agent.yaml:1: kafka.brokers: expected a list of texts like "
                 "[\"a\", \"b\"], got the text \"a\"");
    refused_file(
        "kafka: {brokers: [a, 1]}",
        "agent.yaml:1: kafka.brokers: expected a list of texts like [\"a\", \"b\"], got the "
        "number 1: put it in quotes");
    refused_file("kafka: {librdkafka: {linger.ms: 5}}",
                 "agent.yaml:1: key \"linger.ms\": kafka.librdkafka: expected a map of texts like "
                 "{\"a\": \"1\"}, got the number 5: put it in quotes");
    refused_file("sync: {workers: \"3\"}",
                 "agent.yaml:1: sync.workers: expected a whole number like 10, got the text \"3\"");
    refused_file("sync: {workers: 1.5}",
                 "agent.yaml:1: sync.workers: expected a whole number like 10, got 1.5");
    refused_file("sync: {guard: 1}",
                 "agent.yaml:1: sync.guard: expected true or false, got the number 1");
    refused_file("transport: nats",
                 "agent.yaml:1: transport: expected one of kafka, grpc, got nats");
    refused_file("transport:\n",
                 "agent.yaml:1: transport: has no value: give one or remove the line");
    refused_file("kafka: 1", "agent.yaml:1: kafka: is a section of options, not an option: write "
                             "its options indented below it");
    refused_file("agents: {name: w1}", "agent.yaml:1: agents: expected a list of maps like "
                                       "[{\"name\": \"a\"}], got a map");
}

static void numbers_units_and_bounds_are_checked(void **state)
{
    (void)state;
    refused_set("sync.workers=0", "--set: sync.workers: 0 is below the smallest value 1");
    refused_set("sync.workers=65", "--set: sync.workers: 65 is above the largest value 64");
    refused_set("sync.workers=-1", "--set: sync.workers: -1 is below the smallest value 1");
    refused_set("sync.workers=99999999999999999999",
                "--set: sync.workers: expected a whole number like 10, got 99999999999999999999");
    refused_set("sync.wait=3h", "--set: sync.wait: 3h is above the largest value 2h");
    refused_set("sync.wait=5",
                "--set: sync.wait: expected a duration like \"30s\" (ms, s, m, h), got 5");
    refused_set("sync.wait=9223372036854775807h",
                "--set: sync.wait: expected a duration like \"30s\" "
                "(ms, s, m, h), got 9223372036854775807h");
    refused_set("store.max-size=4MB",
                "--set: store.max-size: expected a size like \"4MiB\" (KiB, MiB, "
                "GiB or plain bytes), got 4MB");
    refused_set("store.max-size=",
                "--set: store.max-size: expected a size like \"4MiB\" (KiB, MiB, GiB "
                "or plain bytes), got nothing");
    refused_set("kafka.brokers=a,,b", "--set: kafka.brokers: an entry between commas is empty");
    refused_set("kafka.brokers=a,", "--set: kafka.brokers: an entry between commas is empty");
    refused_set("kafka.prefix", "--set: \"kafka.prefix\" has no \"=\": write --set key=value");
    refused_set("agents=a", "--set: agents: can only be set in the configuration file");
}

static void list_entries_that_name_things_have_names_of_their_own(void **state)
{
    (void)state;
    refused_file("agents: [{name: a}, {mode: b}]", "agent.yaml:1: agents: entry 2 has no name");
    refused_file("agents: [{name: a}, {name: b}, {name: a}]",
                 "agent.yaml:1: agents: the name \"a\" is given twice");
    refused_file("agents: [{name: a, mod: b}]",
                 "agent.yaml:1: agents: unknown key \"mod\": the keys are name|mode|certificate");
}

static void entries_are_taken_as_patterns(void **state)
{
    (void)state;
    ab_config *c = loaded("kafka: {brokers: ['a*', '/^b/']}", NULL, NULL);
    ab_patterns *patterns = NULL;
    assert_int_equal(ab_config_patterns(c, "kafka.brokers", &patterns, NULL), AB_ERR_OK);
    assert_true(ab_patterns_match(patterns, AB_STR("aa")));
    assert_true(ab_patterns_match(patterns, AB_STR("bb")));
    assert_false(ab_patterns_match(patterns, AB_STR("cb")));
    ab_patterns_free(patterns);
    ab_config_free(c);
}

static void an_entry_that_is_no_pattern_is_refused_with_its_option(void **state)
{
    (void)state;
    ab_config *c = loaded("kafka: {brokers: [a, '/(/', b]}", NULL, NULL);
    ab_patterns *patterns = NULL;
    ab_error err = {0};
    assert_int_equal(ab_config_patterns(c, "kafka.brokers", &patterns, &err), AB_ERR_CONFIG);
    assert_int_equal(err.code, AB_ERR_CONFIG);
    assert_int_equal(strncmp(err.text, "kafka.brokers: /(/: ", 20), 0);
    assert_null(patterns);
    ab_config_free(c);
}

static void without_entries_no_pattern_matches(void **state)
{
    (void)state;
    ab_config *c = loaded(NULL, NULL, NULL);
    ab_patterns *patterns = NULL;
    assert_int_equal(ab_config_patterns(c, "kafka.brokers", &patterns, NULL), AB_ERR_OK);
    assert_false(ab_patterns_match(patterns, AB_STR("")));
    ab_patterns_free(patterns);
    ab_config_free(c);
}

static void files_that_cannot_be_read_are_named_with_the_reason(void **state)
{
    (void)state;
    ab_config *c = NULL;
    ab_error err = {0};
    ab_config_sources sources = {.file = "/nowhere/agent.yaml"};
    assert_int_equal(ab_config_load(tables, 2, &sources, &c, &err), AB_ERR_CONFIG);
    assert_string_equal(err.text, "cannot read the configuration file /nowhere/agent.yaml: No such "
                                  "file or directory");
    sources.file = folder;
    assert_int_equal(ab_config_load(tables, 2, &sources, &c, &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "is a folder, not a file"));
    refused_set("kafka.tls.ca=/nowhere/ca",
                "--set: kafka.tls.ca: cannot read the file /nowhere/ca: "
                "No such file or directory");
    refused_set("kafka.tls.ca=/tmp", "--set: kafka.tls.ca: /tmp is a folder, not a file");
    write_file("hidden", AB_STR("x"));
    assert_int_equal(chmod(path_of("hidden"), 0), 0);
    if (geteuid() == 0) /* root reads everything */
        return;
    refused_file("kafka: {tls: {ca: hidden}}", "agent.yaml:1: kafka.tls.ca: cannot read the file");
}

static void a_path_is_relative_to_the_file_that_is_read(void **state)
{
    (void)state;
    const char *const set[] = {"store.folder=x/y", NULL};
    ab_config *c = loaded("{}", NULL, set);
    assert_string_equal(ab_config_str(c, "store.folder"), path_of("x/y"));
    ab_config_free(c);
    c = loaded(NULL, NULL, set);
    assert_string_equal(ab_config_str(c, "store.folder"), "x/y");
    ab_config_free(c);
    c = loaded("store: {folder: /abs}", NULL, NULL);
    assert_string_equal(ab_config_str(c, "store.folder"), "/abs");
    ab_config_free(c);
}

static void refused_somehow(ab_str text, const char *part)
{
    ab_config *c = NULL;
    ab_error err = {0};
    write_file("agent.yaml", text);
    ab_config_sources sources = {.file = path_of("agent.yaml")};
    assert_int_equal(ab_config_load(tables, 2, &sources, &c, &err), AB_ERR_CONFIG);
    assert_null(c);
    assert_non_null(strstr(err.text, "agent.yaml"));
    if (strstr(err.text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, err.text);
}

static void what_is_no_configuration_is_refused(void **state)
{
    (void)state;
    refused_somehow(AB_STR("a: [1\n"), "line");
    refused_somehow(AB_STR("- a\n"), "expected a map of options");
    refused_somehow(AB_STR("just text"), "expected a map of options");
    refused_somehow(AB_STR("transport: kafka\n---\ntransport: grpc\n"), "a second document");
    refused_somehow(AB_STR("transport: kafka\ntransport: grpc\n"),
                    "line 2, column 1: duplicate key");
    refused_somehow(AB_STR("kafka: {prefix: a}\nkafka.prefix: b\n"), "given twice");
    refused_somehow(AB_STR("kafka: {prefix: \"a\\0b\"}\n"), "NUL");
    refused_somehow(AB_STR("kafka: {brokers: [\"a\\0b\"]}\n"), "NUL");
    refused_somehow(AB_STR("kafka: {prefix: \"\xff\"}\n"), "UTF-8");
    refused_somehow(AB_STR("kafka: {\"pre\\nfix\": x}\n"), "key");
    refused_somehow(AB_STR("\0\0\0"), "");
}

static void a_file_of_10_mib_is_refused(void **state)
{
    (void)state;
    size_t size = 10u << 20;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, ' ', size);
    refused_somehow((ab_str){text, size}, "larger than 1048576 bytes");
    free(text);
}

static void aliases_that_multiply_are_refused(void **state)
{
    (void)state;
    refused_somehow(AB_STR("a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                           "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                           "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                           "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
                           "f: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"),
                    "");
}

static void bytes_of_a_variable_that_are_no_text_are_refused(void **state)
{
    (void)state;
    refused_env("ARGOBUS_KAFKA_PREFIX=\xff", "environment: ARGOBUS_KAFKA_PREFIX: kafka.prefix: the "
                                             "value is not valid UTF-8");
}

static void variables_that_kubernetes_adds_for_services_are_passed_over(void **state)
{
    (void)state;
    char a[] = "ARGOBUS_PRINCIPAL_SERVICE_HOST=10.0.0.1";
    char b[] = "ARGOBUS_PRINCIPAL_PORT=tcp://10.0.0.1:8443";
    char c[] = "ARGOBUS_PRINCIPAL_PORT_8443_TCP_ADDR=10.0.0.1";
    char d[] = "ARGOBUS_PRINCIPAL_SERVICE_PORT_GRPC=8443";
    char *const env[] = {a, b, c, d, NULL};
    ab_config_free(loaded(NULL, env, NULL));
    refused_env("ARGOBUS_PRINCIPAL_PORT=8443", "environment: unknown variable "
                                               "\"ARGOBUS_PRINCIPAL_PORT\": the nearest is "
                                               "\"ARGOBUS_TRANSPORT\"");
}

static void printing_hides_secrets_and_reads_back(void **state)
{
    (void)state;
    char prefix[] = "ARGOBUS_KAFKA_PREFIX=a \"b\"\xC2\x85"; /* YAML 1.1 ends lines with the last */
    char *const env[] = {prefix, NULL};
    const char *const set[] = {"sync.wait=90s", NULL};
    ab_config *c = loaded("kafka:\n  sasl: {password: hunter2}\n  brokers: [a]\n"
                          "  librdkafka: {ssl.key.password: hunter3, Token: hunter4, debug: all}\n"
                          "agents: [{name: w1}]\n",
                          env, set);
    ab_buf out;
    ab_buf_init(&out, 65536);
    ab_config_print(c, &out);
    ab_config_free(c);
    ab_buf_putc(&out, '\0');
    assert_null(strstr(out.ptr, "hunter"));
    char want[1024];
    snprintf(want, sizeof(want),
             "agents: [{\"name\": \"w1\"}]  # from %s\n"
             "kafka:\n"
             "  brokers: [\"a\"]  # from %s\n"
             "  librdkafka: {\"ssl.key.password\": \"<redacted>\", \"Token\": \"<redacted>\", "
             "\"debug\": \"all\"}  # from %s\n"
             "  prefix: \"a \\\"b\\\"\\x85\"  # ARGOBUS_KAFKA_PREFIX\n"
             "  sasl:\n"
             "    password: \"<redacted>\"  # from %s\n"
             "store:\n"
             "  max-size: 4MiB  # default\n"
             "sync:\n"
             "  guard: true  # default\n"
             "  wait: 90s  # from --set\n"
             "  workers: 4  # default\n"
             "transport: \"kafka\"  # default\n",
             path_of("agent.yaml"), path_of("agent.yaml"), path_of("agent.yaml"),
             path_of("agent.yaml"));
    assert_string_equal(out.ptr, want);
    ab_config *again = loaded(out.ptr, NULL, NULL);
    assert_string_equal(ab_config_str(again, "kafka.prefix"),
                        prefix + strlen("ARGOBUS_KAFKA_PREFIX="));
    assert_int_equal(ab_config_int(again, "sync.wait"), 90000);
    ab_config_free(again);
    ab_buf_fini(&out);
}

static void printing_hides_lists_of_secrets(void **state)
{
    (void)state;
    static const ab_option rows[] = {
        {.name = "tokens", .kind = AB_OPT_LIST, .secret = true, .help = "x"},
        {.name = "users", .kind = AB_OPT_MAP, .secret = true, .help = "x"}};
    const ab_options table = {rows, 2};
    const char *const set[] = {"tokens=hunter2,hunter3", "users.me=hunter4"};
    const ab_config_sources sources = {.set = set, .set_count = 2};
    ab_config *c = NULL;
    ab_buf out;
    assert_int_equal(ab_config_load(&table, 1, &sources, &c, NULL), AB_ERR_OK);
    ab_buf_init(&out, 65536);
    ab_config_print(c, &out);
    ab_buf_putc(&out, '\0');
    assert_string_equal(out.ptr, "tokens: [\"<redacted>\", \"<redacted>\"]  # from --set\n"
                                 "users: {\"me\": \"<redacted>\"}  # from --set\n");
    ab_config_free(c);
    ab_buf_fini(&out);
}

static void a_secret_is_not_in_an_error_either(void **state)
{
    (void)state;
    refused_file("kafka: {sasl: {password: 4711}}",
                 "agent.yaml:1: kafka.sasl.password: expected text, got the number <redacted>");
    refused_file(
        "kafka: {librdkafka: {ssl.key.password: 4711}}",
        "agent.yaml:1: key \"ssl.key.password\": kafka.librdkafka: expected a map of texts "
        "like {\"a\": \"1\"}, got the number <redacted>");
}

static void changes_that_need_a_restart_are_listed(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_config *a = loaded("sync: {wait: 5s}\nkafka: {brokers: [a]}", NULL, NULL);
    ab_config *b = loaded("sync: {wait: 6s}\nkafka: {brokers: [a]}", NULL, NULL);
    ab_config_restart_needed(a, b, &out);
    assert_int_equal(out.len, 0);
    ab_config_free(b);
    b = loaded("sync: {workers: 5}\nkafka: {brokers: [a, b]}", NULL, NULL);
    ab_config_restart_needed(a, b, &out);
    ab_buf_putc(&out, '\0');
    assert_string_equal(out.ptr, "kafka.brokers\nsync.workers\n");
    ab_config_free(a);
    ab_config_free(b);
    ab_buf_fini(&out);
}

static void the_reference_page_has_a_row_per_option(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    ab_options_print_markdown(tables, 2, &out);
    ab_buf_putc(&out, '\0');
    assert_non_null(strstr(out.ptr,
                           "| `sync.wait` | a duration like \"30s\" (ms, s, m, h), 1s to 2h "
                           "| `30s` | yes | Waits. |\n"));
    assert_non_null(strstr(out.ptr, "| `kafka.sasl.password` | text |  | no | Word. Secret: never "
                                    "printed. |\n"));
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_sources_the_defaults_are_in_force),
        cmocka_unit_test(a_file_sets_every_kind_of_option),
        cmocka_unit_test(dotted_keys_and_empty_sections_are_read),
        cmocka_unit_test(the_environment_is_above_the_file_and_set_above_both),
        cmocka_unit_test(an_empty_variable_takes_a_path_or_list_back),
        cmocka_unit_test(an_unknown_key_is_named_with_its_line_and_the_nearest),
        cmocka_unit_test(the_hint_for_set_is_an_option_where_a_section_is_nearest),
        cmocka_unit_test(lines_are_right_also_behind_equal_keys_and_comments),
        cmocka_unit_test(a_wrong_type_says_what_is_wanted_and_what_was_given),
        cmocka_unit_test(numbers_units_and_bounds_are_checked),
        cmocka_unit_test(list_entries_that_name_things_have_names_of_their_own),
        cmocka_unit_test(entries_are_taken_as_patterns),
        cmocka_unit_test(an_entry_that_is_no_pattern_is_refused_with_its_option),
        cmocka_unit_test(without_entries_no_pattern_matches),
        cmocka_unit_test(files_that_cannot_be_read_are_named_with_the_reason),
        cmocka_unit_test(a_path_is_relative_to_the_file_that_is_read),
        cmocka_unit_test(what_is_no_configuration_is_refused),
        cmocka_unit_test(a_file_of_10_mib_is_refused),
        cmocka_unit_test(aliases_that_multiply_are_refused),
        cmocka_unit_test(bytes_of_a_variable_that_are_no_text_are_refused),
        cmocka_unit_test(variables_that_kubernetes_adds_for_services_are_passed_over),
        cmocka_unit_test(printing_hides_secrets_and_reads_back),
        cmocka_unit_test(printing_hides_lists_of_secrets),
        cmocka_unit_test(a_secret_is_not_in_an_error_either),
        cmocka_unit_test(changes_that_need_a_restart_are_listed),
        cmocka_unit_test(the_reference_page_has_a_row_per_option),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
