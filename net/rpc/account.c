/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose a connection is: its address's until the peer has logged in, and then its agent's. An
 * account bounds how many connections it has and, by its share of the server's budget, what they
 * buffer: so nobody can take up all of either. Only servers with a time limit for logins have
 * accounts.
 *
 * A peer that needs a place where none is left gets that of the account's oldest connection, unless
 * that is so young that it may be just about to log in.
 */
#include "net/rpc/rpc_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* A connection that has not logged in may be given up for another after so long. */
#define GRACE_MS 2000
#define KEY_MAX  (sizeof("agent ") + 256)

struct ab_rpc_account {
    ab_rpc_budget budget; /* of all its connections */
    struct ab_rpc_conns conns;
    size_t count;
    char key[KEY_MAX];
};

static ab_rpc_account *find_or_add(ab_rpc_endpoint *endpoint, const char *key)
{
    ab_rpc_account *a = ab_map_find(endpoint->accounts, ab_str_of(key));
    if (a != NULL)
        return a;
    a = calloc(1, sizeof(*a));
    if (a == NULL)
        return NULL;
    a->budget = (ab_rpc_budget){.max = SIZE_MAX, .parent = &endpoint->budget};
    TAILQ_INIT(&a->conns);
    snprintf(a->key, sizeof(a->key), "%s", key);
    if (ab_map_put(endpoint->accounts, ab_str_of(a->key), a, NULL) == AB_ERR_OK)
        return a;
    free(a);
    return NULL;
}

static void join(ab_rpc_conn *conn, const char *key)
{
    ab_error err = {0};
    conn->account = find_or_add(conn->endpoint, key);
    if (conn->account == NULL) {
        ab_fail(&err, AB_ERR_NOMEM, "out of memory for the connection");
        ab_rpc_conn_doom(conn, &err);
        return;
    }
    TAILQ_INSERT_TAIL(&conn->account->conns, conn, of_account);
    conn->account->count++;
    ab_rpc_budget_move(&conn->budget, &conn->account->budget);
}

static void leave(ab_rpc_conn *conn)
{
    ab_rpc_account *a = conn->account;
    if (a == NULL)
        return;
    ab_rpc_budget_move(&conn->budget, &conn->endpoint->budget);
    TAILQ_REMOVE(&a->conns, conn, of_account);
    conn->account = NULL;
    if (--a->count > 0)
        return;
    (void)ab_map_take(conn->endpoint->accounts, ab_str_of(a->key));
    free(a);
}

static void give_up(ab_rpc_conn *conn, const char *why)
{
    ab_error err = {0};
    if (conn->doomed)
        return;
    ab_fail(&err, AB_ERR_FULL, "connection closed: %s", why);
    ab_rpc_conn_doom(conn, &err);
    ab_rpc_endpoint_log_refusal(conn->endpoint, conn, "connections");
}

/* One connection too many has come: which of them goes. */
static ab_rpc_conn *victim_of(ab_rpc_conn *oldest, ab_rpc_conn *newest)
{
    return newest->born_ms - oldest->born_ms >= GRACE_MS ? oldest : newest;
}

void ab_rpc_account_open(ab_rpc_conn *conn, const struct sockaddr *from)
{
    ab_rpc_endpoint *endpoint = conn->endpoint;
    char network[AB_RPC_ADDRESS_MAX], key[KEY_MAX];
    conn->budget = (ab_rpc_budget){.max = SIZE_MAX, .parent = &endpoint->budget};
    if (endpoint->accounts == NULL)
        return;
    conn->budget.max = endpoint->limits.stranger_bytes;
    TAILQ_INSERT_TAIL(&endpoint->strangers, conn, stranger);
    endpoint->stranger_count++;
    ab_rpc_peer_network(from, network);
    snprintf(key, sizeof(key), "address %s", network);
    join(conn, key);
    if (conn->account != NULL && conn->account->count > endpoint->limits.strangers_per_address)
        give_up(victim_of(TAILQ_FIRST(&conn->account->conns), conn),
                "too many connections from this address have not logged in");
    else if (endpoint->stranger_count > endpoint->limits.strangers)
        give_up(victim_of(TAILQ_FIRST(&endpoint->strangers), conn),
                "too many connections have not logged in");
}

static void end_strangeness(ab_rpc_conn *conn)
{
    if (conn->endpoint->accounts == NULL || conn->welcome)
        return;
    TAILQ_REMOVE(&conn->endpoint->strangers, conn, stranger);
    conn->endpoint->stranger_count--;
}

void ab_rpc_account_welcome(ab_rpc_conn *conn, const char *agent)
{
    ab_rpc_endpoint *endpoint = conn->endpoint;
    char key[KEY_MAX];
    ab_rpc_call *call;
    if (conn->welcome)
        return;
    end_strangeness(conn);
    conn->welcome = true;
    if (endpoint->accounts == NULL)
        return;
    leave(conn);
    conn->budget.max = SIZE_MAX;
    TAILQ_FOREACH(call, &conn->calls, at)
    call->in.max = endpoint->limits.message_bytes;
    snprintf(key, sizeof(key), "agent %s", agent);
    join(conn, key);
    if (conn->account != NULL && conn->account->count > endpoint->limits.agent_connections)
        give_up(TAILQ_FIRST(&conn->account->conns), "the agent has too many connections");
}

void ab_rpc_welcome(ab_rpc_call *call, const char *agent)
{
    assert(call->conn->endpoint->server);
    ab_rpc_account_welcome(call->conn, agent);
}

void ab_rpc_account_close(ab_rpc_conn *conn)
{
    end_strangeness(conn);
    conn->welcome = true;
    leave(conn);
}

size_t ab_rpc_account_message_max(const ab_rpc_conn *conn)
{
    const ab_rpc_limits *l = &conn->endpoint->limits;
    bool stranger = conn->endpoint->accounts != NULL && !conn->welcome;
    return stranger ? l->stranger_bytes : l->message_bytes;
}
