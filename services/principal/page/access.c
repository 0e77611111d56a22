/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/page/access.h"

#include <arpa/inet.h>
#include <string.h>

static const ab_option rows[] = {
    {.name = "fleet.listen",
     .kind = AB_OPT_STRING,
     .help = "host:port where the fleet page is served: without a host on 127.0.0.1, with * on all "
             "addresses; unset: it is not. An address that other machines reach needs fleet.tls, "
             "and fleet.tokens or "
             "fleet.tls.ca."},
    {.name = "fleet.tokens",
     .kind = AB_OPT_FILE,
     .help = "File of bearer tokens in the form of live.resource.tokens; who has one for all "
             "agents (*) may look. Read again when it changes."},
    {.name = "fleet.tls.ca",
     .kind = AB_OPT_FILE,
     .help = "CAs of client certificates; who has one may look."},
    {.name = "fleet.tls.cert",
     .kind = AB_OPT_FILE,
     .help = "Certificate of the fleet page's server; unset: plain HTTP."},
    {.name = "fleet.tls.key", .kind = AB_OPT_FILE, .help = "Its key."},
};
const ab_options ab_page_options = {rows, sizeof(rows) / sizeof(rows[0])};

static bool is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (strcmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static ab_err check_access(const ab_page_access *a, ab_error *err)
{
    if ((a->tls.cert == NULL) != (a->tls.key == NULL))
        return ab_fail(err, AB_ERR_CONFIG, "fleet.tls.cert and fleet.tls.key must be set together");
    if (a->tls.ca != NULL && a->tls.insecure)
        return ab_fail(err, AB_ERR_CONFIG,
                       "fleet.tls.ca needs fleet.tls.cert and fleet.tls.key: without TLS nobody "
                       "shows a certificate");
    if (!is_loopback(a->at.host) && (a->tls.insecure || a->open))
        return ab_fail(err, AB_ERR_CONFIG,
                       "fleet.listen: other machines reach %s: set fleet.tls.cert and "
                       "fleet.tls.key, and fleet.tokens or fleet.tls.ca; or listen on 127.0.0.1",
                       a->at.host);
    return AB_ERR_OK;
}

ab_err ab_page_access_read(const ab_config *config, ab_page_access *out, ab_error *err)
{
    ab_page_access a = {.tokens = ab_config_str(config, "fleet.tokens")};
    ab_err e =
        ab_address_parse("fleet.listen", ab_config_str(config, "fleet.listen"), -1, &a.at, err);
    if (e != AB_ERR_OK)
        return e;
    if (a.at.host[0] == '\0')
        memcpy(a.at.host, "127.0.0.1", sizeof("127.0.0.1"));
    a.tls = (ab_tls){.ca = ab_config_str(config, "fleet.tls.ca"),
                     .cert = ab_config_str(config, "fleet.tls.cert"),
                     .key = ab_config_str(config, "fleet.tls.key"),
                     .min_version = "1.2"};
    a.tls.insecure = a.tls.cert == NULL;
    a.tls.client_cert = a.tls.ca == NULL ? AB_TLS_CLIENT_CERT_NONE : AB_TLS_CLIENT_CERT_REQUEST;
    a.open = a.tokens == NULL && a.tls.ca == NULL;
    e = check_access(&a, err);
    if (strcmp(a.at.host, "*") == 0)
        a.at.host[0] = '\0';
    if (e == AB_ERR_OK)
        *out = a;
    return e;
}

/* The field Host without its port, and an IPv6 address without its brackets. */
static bool names_this_machine(ab_str field)
{
    char host[64];
    bool bracketed = ab_str_starts(field, "[");
    ab_str rest = bracketed ? ab_str_skip(field, 1) : field;
    ab_str name = ab_str_cut(&rest, bracketed ? ']' : ':');
    bool unclosed = bracketed && rest.ptr == NULL;
    if (unclosed || name.len == 0 || name.len >= sizeof(host))
        return false;
    memcpy(host, name.ptr, name.len);
    host[name.len] = '\0';
    return is_loopback(host);
}

int ab_page_access_judge(const ab_page_access *access, ab_resource_identities *ids,
                         const ab_https_info *info)
{
    char agent[AB_RESOURCE_AGENT_MAX] = "";
    if (access->open)
        return names_this_machine(ab_http_head_find(info->head, "host")) ? 200 : 403;
    if (info->certificate != NULL)
        return 200;
    if (ids != NULL)
        ab_resource_identities_find(ids, ab_http_head_find(info->head, "authorization"), "", agent);
    return strcmp(agent, "*") == 0 ? 200 : 401;
}
