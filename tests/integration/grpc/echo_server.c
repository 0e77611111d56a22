/* SPDX-License-Identifier: Apache-2.0
 *
 * echo_server CERTS|- [websocket] [LIMIT=NUMBER...]: a server of ours for clients that are not,
 * with WebSockets or without. Prints its port, and how each call ended; SIGTERM drains it. The
 * service is test.Echo, in bare bytes:
 *
 *   Unary  the request            Echo  each message, until the half-close
 *   Many   "COUNT SIZE": so many  Count  "MESSAGES BYTES" after the half-close
 *   Deny   PERMISSION_DENIED      Hold  nothing, until it is cut short; its caller stays a stranger
 *   Meta   the metadata x-echo and x-echo-bin, and the certificate's subject as x-subject
 */
#include "net/rpc/rpc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAIN_MS 300

typedef struct {
    ab_rpc_call *call;
    char method[16];
    size_t messages;
    size_t bytes;
    size_t left; /* of Many */
    size_t size;
} session;

static void send_many(session *s)
{
    char *block = calloc(1, s->size + 1);
    if (block == NULL)
        abort();
    while (s->left > 0 && ab_rpc_send(s->call, (ab_str){block, s->size}, true) == AB_ERR_OK)
        s->left--;
    free(block);
    if (s->left == 0)
        ab_rpc_finish(s->call, AB_RPC_OK, NULL);
}

static void on_message(void *arg, ab_str bytes)
{
    session *s = arg;
    s->messages++;
    s->bytes += bytes.len;
    if (strcmp(s->method, "Unary") == 0)
        ab_rpc_reply(s->call, bytes, true);
    if (strcmp(s->method, "Echo") == 0 && ab_rpc_send(s->call, bytes, true) == AB_ERR_FULL)
        ab_rpc_finish(s->call, AB_RPC_RESOURCE_EXHAUSTED, "read what you have asked for");
    if (strcmp(s->method, "Many") == 0) {
        char text[64];
        snprintf(text, sizeof(text), "%.*s", AB_STR_ARG(bytes));
        char *at = NULL;
        s->left = strtoul(text, &at, 10);
        s->size = strtoul(at, NULL, 10);
        send_many(s);
    }
}

static void on_half_close(void *arg)
{
    session *s = arg;
    char text[64];
    snprintf(text, sizeof(text), "%zu %zu", s->messages, s->bytes);
    if (strcmp(s->method, "Echo") == 0)
        ab_rpc_finish(s->call, AB_RPC_OK, NULL);
    if (strcmp(s->method, "Count") == 0)
        ab_rpc_reply(s->call, ab_str_of(text), true);
}

static void on_writable(void *arg)
{
    session *s = arg;
    if (strcmp(s->method, "Many") == 0)
        send_many(s);
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    session *s = arg;
    printf("%s %s %zu %zu %.*s\n", s->method, ab_rpc_status_name(status), s->messages, s->bytes,
           AB_STR_ARG(text));
    free(s);
}

static const ab_rpc_handler handler = {.on_message = on_message,
                                       .on_half_close = on_half_close,
                                       .on_writable = on_writable,
                                       .on_end = on_end};

/* Answers with what it was given, and with who asks. */
static void answer_meta(ab_rpc_call *call, const ab_rpc_request *r)
{
    char subject[256] = "";
    ab_rpc_field fields[3] = {
        {AB_STR("x-echo"), ab_rpc_field_find(r->metadata, r->metadata_count, "x-echo")},
        {AB_STR("x-echo-bin"), ab_rpc_field_find(r->metadata, r->metadata_count, "x-echo-bin")},
        {AB_STR("x-subject"), AB_STR_NONE},
    };
    if (r->peer->certificate != NULL)
        X509_NAME_oneline(X509_get_subject_name(r->peer->certificate), subject, sizeof(subject));
    fields[2].value = ab_str_of(subject);
    if (ab_rpc_respond(call, fields, 3) == AB_ERR_OK)
        ab_rpc_reply(call, AB_STR("meta"), false);
}

static void on_call(void *arg, ab_rpc_call *call, const ab_rpc_request *request)
{
    (void)arg;
    static const char *const methods[] = {"Unary", "Echo", "Many", "Count", "Hold", "Meta"};
    ab_str method = request->path;
    if (ab_str_is(method, "/test.Echo/Deny")) {
        ab_rpc_finish(call, AB_RPC_PERMISSION_DENIED, "ne: prosím, 100% nein");
        return;
    }
    if (!ab_str_starts(method, "/test.Echo/"))
        return;
    method = (ab_str){method.ptr + 11, method.len - 11};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (!ab_str_is(method, methods[i]))
            continue;
        session *s = calloc(1, sizeof(*s));
        if (s == NULL)
            abort();
        s->call = call;
        snprintf(s->method, sizeof(s->method), "%s", methods[i]);
        ab_rpc_accept(call, &handler, s);
        if (strcmp(methods[i], "Hold") != 0)
            ab_rpc_welcome(call, "echo");
        if (strcmp(methods[i], "Meta") == 0)
            answer_meta(call, request);
    }
}

static void set_limit(ab_rpc_limits *l, const char *text)
{
    char name[32];
    long long value = 0;
    if (sscanf(text, "%31[a-z_]=%lld", name, &value) != 2)
        abort();
    const struct {
        const char *name;
        int64_t *ms;
        uint32_t *count;
        size_t *bytes;
    } table[] = {
        {"handshake_ms", &l->handshake_ms, NULL, NULL},
        {"login_ms", &l->login_ms, NULL, NULL},
        {"ping_ms", &l->ping_ms, NULL, NULL},
        {"ping_timeout_ms", &l->ping_timeout_ms, NULL, NULL},
        {"message_bytes", NULL, NULL, &l->message_bytes},
        {"buffered_bytes", NULL, NULL, &l->buffered_bytes},
        {"header_bytes", NULL, NULL, &l->header_bytes},
        {"streams", NULL, &l->streams, NULL},
        {"connections", NULL, &l->connections, NULL},
        {"resets", NULL, &l->resets.count, NULL},
        {"settings", NULL, &l->settings.count, NULL},
        {"pings", NULL, &l->pings.count, NULL},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(table[i].name, name) != 0)
            continue;
        if (table[i].ms != NULL)
            *table[i].ms = value;
        if (table[i].count != NULL)
            *table[i].count = (uint32_t)value;
        if (table[i].bytes != NULL)
            *table[i].bytes = (size_t)value;
        return;
    }
    abort();
}

static void on_drained(void *arg)
{
    ab_rpc_server_free(arg);
}

static void on_term(uv_signal_t *signal, int number)
{
    (void)number;
    ab_rpc_server_drain(signal->data, DRAIN_MS, on_drained, signal->data);
    uv_close((uv_handle_t *)signal, NULL);
}

static ab_rpc_server *start(const ab_rpc_env *env, const char *certs, bool websocket,
                            const ab_rpc_limits *limits)
{
    char paths[3][256];
    static const char *const names[] = {"ca.crt", "server.crt", "server.key"};
    for (size_t i = 0; i < 3; i++)
        snprintf(paths[i], sizeof(paths[i]), "%s/%s", certs, names[i]);
    ab_tls tls = {.ca = paths[0],
                  .cert = paths[1],
                  .key = paths[2],
                  .client_cert = AB_TLS_CLIENT_CERT_REQUIRE,
                  .insecure = strcmp(certs, "-") == 0,
                  .websocket = websocket};
    ab_rpc_server_events events = {on_call, NULL};
    ab_rpc_server *server = NULL;
    ab_error err = {0};
    if (ab_rpc_server_new(env, "", 0, &tls, limits, &events, &server, &err) != AB_ERR_OK ||
        ab_rpc_server_start(server, &err) != AB_ERR_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return server;
}

int main(int argc, char **argv)
{
    uv_loop_t loop;
    uv_signal_t term;
    ab_log *log = NULL;
    ab_rpc_limits limits = ab_rpc_default_limits;
    if (argc < 2 || uv_loop_init(&loop) != 0 ||
        ab_log_new(2, "info", AB_LOG_TEXT, &ab_clock_real, &log, NULL) != AB_ERR_OK)
        return 2;
    bool websocket = argc > 2 && strcmp(argv[2], "websocket") == 0;
    for (int i = websocket ? 3 : 2; i < argc; i++)
        set_limit(&limits, argv[i]);
    (void)signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    ab_rpc_env env = {&loop, log, ab_metrics_new(), &ab_clock_real};
    ab_rpc_server *server = start(&env, argv[1], websocket, &limits);
    uv_signal_init(&loop, &term);
    term.data = server;
    uv_signal_start(&term, on_term, SIGTERM);
    printf("port %d\n", ab_rpc_server_port(server));
    uv_run(&loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&loop);
    ab_buf text;
    ab_buf_init(&text, 65536);
    (void)ab_metrics_render(env.metrics, &(ab_rendering){0}, &text, SIZE_MAX);
    printf("%.*s", AB_STR_ARG(ab_buf_str(&text)));
    ab_buf_fini(&text);
    ab_metrics_free(env.metrics);
    ab_log_free(log);
    return left == 0 ? 0 : 3;
}
