/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/check/setup.h"

#include "base/core/file.h"
#include "base/json/document.h"
#include "base/yaml/yaml.h"
#include "services/agent/agent.h"
#include "services/ctl/cluster/kubeconfig.h"
#include "services/principal/principal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((size_t)1024 * 1024)

/* A variable of argobusctl itself, which the programs would refuse as a misspelt option. */
static bool is_own(const char *variable)
{
    static const char *const names[] = {
        "ARGOBUS_CONTROL_SOCKET=", "ARGOBUS_SERVER=", "ARGOBUS_TOKEN_FILE=", "ARGOBUS_SERVER_CA="};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The environment of the programs: a list of borrowed texts, owned by the caller; NULL: out of
 * memory. */
static char **copy_env(void)
{
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **env = calloc(count + 1, sizeof(*env));
    for (size_t i = 0; env != NULL && i < count; i++)
        if (!is_own(environ[i]))
            env[kept++] = environ[i];
    return env;
}

/* As far as the options themselves are concerned; what they mean together is checked later.
 * @param cluster  settings that replace those of the file */
static ab_err load(ab_setup *s, const ab_cluster_settings *cluster, ab_error *err)
{
    ab_options tables[AB_SERVICE_OPTIONS_MAX];
    size_t count = s->is_agent ? ab_agent_options(tables) : ab_principal_options(tables);
    ab_config_sources sources = {.file = s->file,
                                 .env = copy_env(),
                                 .set = (const char *const *)cluster->set,
                                 .set_count = cluster->count};
    ab_err e = sources.env == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory")
                                   : ab_config_load(tables, count, &sources, &s->config, err);
    free((void *)(uintptr_t)sources.env);
    return e;
}

static ab_err load_with_flags(const ab_ctl *ctl, ab_setup *s, ab_error *err)
{
    ab_cluster_settings cluster;
    ab_err e = ab_cluster_settings_init(ctl, &cluster, err);
    if (e == AB_ERR_OK)
        e = load(s, &cluster, err);
    ab_cluster_settings_fini(&cluster);
    return e;
}

static ab_err check(const ab_setup *s, ab_error *err)
{
    return s->is_agent ? ab_agent_check(s->config, err) : ab_principal_check(s->config, err);
}

ab_err ab_setup_read(const ab_ctl *ctl, const char *program, ab_setup *out, ab_error *err)
{
    ab_setup s = {.is_agent = strcmp(program, "agent") == 0, .file = ab_ctl_value(ctl, "config")};
    if (!s.is_agent && strcmp(program, "principal") != 0)
        return ab_fail(err, AB_ERR_INVALID, "%s: \"%s\" is not one of: %s", ctl->command->name,
                       program, ctl->command->operands);
    if (s.file == NULL)
        return ab_fail(err, AB_ERR_INVALID, "%s: name the configuration file of the %s: -c FILE",
                       ctl->command->name, program);
    ab_err e = load_with_flags(ctl, &s, err);
    if (e == AB_ERR_OK)
        e = check(&s, err);
    if (e != AB_ERR_OK) {
        ab_setup_fini(&s);
        return e;
    }
    s.agent = s.is_agent ? ab_config_str(s.config, "agent.name") : NULL;
    s.is_kafka = ab_config_is(s.config, "transport", "kafka");
    *out = s;
    return AB_ERR_OK;
}

ab_err ab_setup_read_brokers(const char *file, ab_setup *out, ab_error *err)
{
    ab_setup s = {.is_kafka = true, .file = file};
    ab_err e = load(&s, &(ab_cluster_settings){0}, err);
    if (e == AB_ERR_OK)
        *out = s;
    else
        ab_setup_fini(&s);
    return e;
}

/* ----- of either program, for the sake of the brokers ----- */

/* An option agent.* is in it: as a section, or under its dotted name. */
static ab_err find_agent(void *arg, ab_str json, size_t line)
{
    bool *found = arg;
    cJSON *doc = NULL;
    (void)line;
    ab_err e = ab_doc_parse(json, json.len, &doc, NULL);
    if (e != AB_ERR_OK)
        return e;
    for (const cJSON *member = doc->child; member != NULL; member = member->next) {
        const char *name = member->string == NULL ? "" : member->string;
        *found = *found || strcmp(name, "agent") == 0 || strncmp(name, "agent.", 6) == 0;
    }
    cJSON_Delete(doc);
    return AB_ERR_OK;
}

/* A file that cannot be read is nobody's: reading its options says why. */
static bool is_of_agent(const char *file)
{
    bool found = getenv("ARGOBUS_AGENT_NAME") != NULL;
    ab_buf text = ab_buf_up_to(FILE_MAX_BYTES);
    ab_err e = ab_file_read(file, &text, NULL, NULL);
    if (e == AB_ERR_OK)
        e = ab_yaml_to_json(ab_buf_str(&text), &ab_yaml_default_limits, find_agent, &found, NULL);
    ab_buf_fini(&text);
    return e == AB_ERR_OK && found;
}

static ab_err check_brokers(const ab_setup *s, ab_error *err)
{
    if (!ab_config_is(s->config, "transport", "kafka"))
        return ab_fail(err, AB_ERR_INVALID, "%s: there are no brokers with transport: grpc",
                       s->file);
    if (s->is_agent && s->agent == NULL)
        return ab_fail(err, AB_ERR_CONFIG, "agent.name is not set: set it to the agent's name");
    return ab_transport_check(s->config, s->is_agent ? AB_ROLE_AGENT : AB_ROLE_PRINCIPAL, s->agent,
                              err);
}

ab_err ab_setup_read_kafka(const ab_ctl *ctl, ab_setup *out, ab_error *err)
{
    ab_setup s = {.is_kafka = true, .file = ab_ctl_value(ctl, "config")};
    if (s.file == NULL)
        return ab_fail(err, AB_ERR_INVALID, "%s kafka: name the configuration file: -c FILE",
                       ctl->command->name);
    s.is_agent = is_of_agent(s.file);
    ab_err e = load(&s, &(ab_cluster_settings){0}, err);
    if (e == AB_ERR_OK) {
        s.agent = s.is_agent ? ab_config_str(s.config, "agent.name") : NULL;
        e = check_brokers(&s, err);
    }
    if (e == AB_ERR_OK)
        *out = s;
    else
        ab_setup_fini(&s);
    return e;
}

void ab_setup_fini(ab_setup *s)
{
    ab_config_free(s->config);
    *s = (ab_setup){0};
}

const char *ab_setup_tls(const ab_setup *s, const char *option)
{
    char name[64];
    snprintf(name, sizeof(name), "%s.tls.%s", s->is_kafka ? "kafka" : "grpc", option);
    const char *value = ab_config_str(s->config, name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

bool ab_setup_is_insecure(const ab_setup *s)
{
    return ab_config_bool(s->config, s->is_kafka ? "kafka.insecure" : "grpc.insecure");
}
