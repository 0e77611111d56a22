/* SPDX-License-Identifier: Apache-2.0
 *
 * The rights that the brokers' authorizer keeps for one user: looked at, created, deleted. Every
 * request names one right exactly (user, resource, pattern, operation, any host): a filter that
 * matches more would delete what others were given. All of these wait for the broker: worker
 * threads and argobusctl only.
 */
#pragma once

#include "base/core/error.h"

#include <librdkafka/rdkafka.h>

/* One right to allow an operation. */
typedef struct {
    rd_kafka_ResourceType_t type; /* topic or group */
    const char *name;             /* borrowed: of the resource, or what its name begins with */
    rd_kafka_ResourcePatternType_t pattern; /* literal or prefixed */
    rd_kafka_AclOperation_t operation;
    bool exists;
} ab_kafka_acl;

/**
 * Find out which of these exist; sets `exists`. librdkafka 2.0 drops a refusal: whoever may
 * not list ACLs (Describe on the cluster) sees none.
 * @param user  with its type, "User:w1"
 * @return why the brokers do not say it
 */
AB_MUST_USE ab_err ab_kafka_acls_inspect(rd_kafka_t *rk, const char *user, ab_kafka_acl *acls,
                                         size_t count, ab_error *err);
/** Create those that do not exist; sets `exists` of the created. @return why one of them, or all,
 * are not created */
AB_MUST_USE ab_err ab_kafka_acls_make(rd_kafka_t *rk, const char *user, ab_kafka_acl *acls,
                                      size_t count, ab_error *err);
/** Delete these; sets `exists` of those that existed until now. @return why one of them, or all,
 * stay */
AB_MUST_USE ab_err ab_kafka_acls_delete(rd_kafka_t *rk, const char *user, ab_kafka_acl *acls,
                                        size_t count, ab_error *err);
