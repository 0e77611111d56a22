/* SPDX-License-Identifier: Apache-2.0
 *
 * The cluster Secrets that self-registration writes: their form, and how they are recognised. The
 * label argocd-agent.argoproj-labs.io/self-registered-cluster says that a Secret is the
 * principal's; a Secret without it is never written. The annotation argobus.io/registered is a
 * digest of the data that the principal wrote last: only other data is a reason to write again, so
 * that what others change in such a Secret stays.
 */
#pragma once

#include "base/json/object.h"

#define AB_LABEL_AGENT_NAME    "argocd-agent.argoproj-labs.io/agent-name"
#define AB_LABEL_REGISTERED    "argocd-agent.argoproj-labs.io/self-registered-cluster"
#define AB_LABEL_APPROVED      "argobus.io/approved"   /* "false": the agent is not served */
#define AB_ANN_REGISTERED_DATA "argobus.io/registered" /* digest of the data */

#define AB_REGISTRATION_NAME        "cluster-%.*s" /* of the Secret, by the agent's name */
#define AB_REGISTRATION_CLUSTER_MAX 64             /* of a name, with its NUL */

/* What the Secret of every agent says; borrowed. */
typedef struct {
    const char *namespace;
    const char *server; /* URL of the resource proxy, without /agents/NAME and last slash */
    ab_str ca;          /* PEM; absent: none */
    bool by_hand;       /* the agent is not served before somebody approves it */
} ab_registration_form;

/** The agent whose self-registered cluster Secret it is; absent: it is none. */
ab_str ab_registration_agent_of(const ab_object *secret);
/** What Argo CD calls the cluster of any other cluster Secret. @return false: it is none, or no
 * agent can be called so */
bool ab_registration_cluster_of(const ab_object *secret, char out[AB_REGISTRATION_CLUSTER_MAX]);
/** Whether it is a self-registered cluster Secret whose agent waits for approval. */
bool ab_registration_is_waiting(const ab_object *secret);
/** Append .data as JSON. Wipe the buffer. @return NOMEM, TOOBIG */
AB_MUST_USE ab_err ab_registration_data(const ab_registration_form *form, ab_str agent,
                                        const char *token, ab_buf *out);
/** A new Secret. @param labels  further ones (schema/labels.h), all allowed; of two with the same
 *  key the first counts. @param data  of ab_registration_data. @param out  one reference
 *  @return NOMEM, TOOBIG, INVALID */
AB_MUST_USE ab_err ab_registration_make(const ab_registration_form *form, ab_str agent,
                                        const char *mode, ab_str labels, ab_str data,
                                        ab_object **out);
/** Whether the principal wrote this data last. False when it cannot be computed. */
bool ab_registration_is_current(const ab_object *secret, ab_str data);
/** The Secret with other data; labels, other annotations and further keys of its data stay.
 *  @param out  one reference. @return NOMEM, TOOBIG, PARSE, INVALID */
AB_MUST_USE ab_err ab_registration_refresh(const ab_object *secret, ab_str data, ab_object **out);
