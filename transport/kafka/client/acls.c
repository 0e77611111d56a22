/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/acls.h"

#include "transport/kafka/client/admin.h"
#include "transport/kafka/client/errors.h"

#include <stdlib.h>
#include <string.h>

/* What kafka-acls.sh says for any host. */
#define ANY_HOST "*"

static bool is_same(const ab_kafka_acl *a, const rd_kafka_AclBinding_t *b)
{
    return rd_kafka_AclBinding_restype(b) == a->type &&
           strcmp(rd_kafka_AclBinding_name(b), a->name) == 0 &&
           rd_kafka_AclBinding_resource_pattern_type(b) == a->pattern &&
           strcmp(rd_kafka_AclBinding_host(b), ANY_HOST) == 0 &&
           rd_kafka_AclBinding_operation(b) == a->operation &&
           rd_kafka_AclBinding_permission_type(b) == RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW;
}

static void read_described(rd_kafka_event_t *event, ab_kafka_acl *acls, size_t count)
{
    size_t n = 0;
    const rd_kafka_AclBinding_t **found =
        rd_kafka_DescribeAcls_result_acls(rd_kafka_event_DescribeAcls_result(event), &n);
    for (size_t i = 0; i < count; i++) {
        acls[i].exists = false;
        for (size_t k = 0; k < n && !acls[i].exists; k++)
            acls[i].exists = is_same(&acls[i], found[k]);
    }
}

ab_err ab_kafka_acls_inspect(rd_kafka_t *rk, const char *user, ab_kafka_acl *acls, size_t count,
                             ab_error *err)
{
    rd_kafka_AclBindingFilter_t *all = rd_kafka_AclBindingFilter_new(
        RD_KAFKA_RESOURCE_ANY, NULL, RD_KAFKA_RESOURCE_PATTERN_ANY, user, NULL,
        RD_KAFKA_ACL_OPERATION_ANY, RD_KAFKA_ACL_PERMISSION_TYPE_ANY, NULL, 0);
    if (all == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory listing ACLs");
    ab_kafka_admin a =
        ab_kafka_admin_begin(rk, RD_KAFKA_ADMIN_OP_DESCRIBEACLS, AB_KAFKA_REQUEST_MS);
    rd_kafka_DescribeAcls(rk, all, a.options, a.queue);
    rd_kafka_event_t *event = ab_kafka_admin_await(&a);
    ab_err e = ab_kafka_admin_check(event, err);
    if (e == AB_ERR_OK)
        read_described(event, acls, count);
    else
        ab_error_prefix(err, "cannot list ACLs");
    rd_kafka_event_destroy(event);
    rd_kafka_AclBinding_destroy(all);
    return e;
}

/* ----- create ----- */

/* A broker's own text for a refusal is its whole request: the code says more. */
static ab_err read_result(const rd_kafka_error_t *why, const ab_kafka_acl *acl, const char *what,
                          ab_error *err)
{
    if (why == NULL)
        return AB_ERR_OK;
    rd_kafka_resp_err_t code = rd_kafka_error_code(why);
    const char *remedy = code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED
                             ? "; this needs the rights Alter and Describe on the cluster"
                             : "";
    return ab_fail(err, ab_kafka_err(code), "cannot %s the ACL %s on %s: %s%s", what,
                   rd_kafka_AclOperation_name(acl->operation), acl->name, rd_kafka_err2str(code),
                   remedy);
}

/* @param asked  what the results are of, in their order */
static ab_err read_made(rd_kafka_event_t *event, ab_kafka_acl *const *asked, ab_error *err)
{
    size_t n = 0;
    ab_err e = ab_kafka_admin_check(event, err);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "cannot create ACLs");
        return e;
    }
    const rd_kafka_acl_result_t **made =
        rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &n);
    for (size_t i = 0; i < n && e == AB_ERR_OK; i++) {
        e = read_result(rd_kafka_acl_result_error(made[i]), asked[i], "create", err);
        asked[i]->exists = e == AB_ERR_OK;
    }
    return e;
}

static ab_err request_made(rd_kafka_t *rk, rd_kafka_AclBinding_t **wanted,
                           ab_kafka_acl *const *asked, size_t n, ab_error *err)
{
    ab_kafka_admin a = ab_kafka_admin_begin(rk, RD_KAFKA_ADMIN_OP_CREATEACLS, AB_KAFKA_REQUEST_MS);
    rd_kafka_CreateAcls(rk, wanted, n, a.options, a.queue);
    rd_kafka_event_t *event = ab_kafka_admin_await(&a);
    ab_err e = read_made(event, asked, err);
    rd_kafka_event_destroy(event);
    return e;
}

static rd_kafka_AclBinding_t *binding_of(const char *user, const ab_kafka_acl *acl)
{
    return rd_kafka_AclBinding_new(acl->type, acl->name, acl->pattern, user, ANY_HOST,
                                   acl->operation, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, NULL, 0);
}

ab_err ab_kafka_acls_make(rd_kafka_t *rk, const char *user, ab_kafka_acl *acls, size_t count,
                          ab_error *err)
{
    rd_kafka_AclBinding_t **wanted = calloc(count, sizeof(rd_kafka_AclBinding_t *));
    ab_kafka_acl **asked = calloc(count, sizeof(ab_kafka_acl *));
    size_t n = 0;
    bool complete = wanted != NULL && asked != NULL;
    for (size_t i = 0; complete && i < count; i++) {
        if (acls[i].exists)
            continue;
        wanted[n] = binding_of(user, &acls[i]);
        asked[n] = &acls[i];
        complete = wanted[n] != NULL;
        n += complete;
    }
    ab_err e = AB_ERR_OK;
    if (!complete)
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory creating ACLs");
    else if (n > 0)
        e = request_made(rk, wanted, asked, n, err);
    if (wanted != NULL)
        rd_kafka_AclBinding_destroy_array(wanted, n);
    free(wanted);
    free(asked);
    return e;
}

/* ----- delete ----- */

static ab_err read_deleted(rd_kafka_event_t *event, ab_kafka_acl *acls, ab_error *err)
{
    size_t n = 0;
    size_t matching = 0;
    ab_err e = ab_kafka_admin_check(event, err);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "cannot delete ACLs");
        return e;
    }
    const rd_kafka_DeleteAcls_result_response_t **deleted =
        rd_kafka_DeleteAcls_result_responses(rd_kafka_event_DeleteAcls_result(event), &n);
    for (size_t i = 0; i < n && e == AB_ERR_OK; i++) {
        e = read_result(rd_kafka_DeleteAcls_result_response_error(deleted[i]), &acls[i], "delete",
                        err);
        (void)rd_kafka_DeleteAcls_result_response_matching_acls(deleted[i], &matching);
        acls[i].exists = matching > 0;
    }
    return e;
}

/* A binding is a filter that matches itself alone. */
static rd_kafka_AclBindingFilter_t *select_only(const char *user, const ab_kafka_acl *acl)
{
    return rd_kafka_AclBindingFilter_new(acl->type, acl->name, acl->pattern, user, ANY_HOST,
                                         acl->operation, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, NULL,
                                         0);
}

ab_err ab_kafka_acls_delete(rd_kafka_t *rk, const char *user, ab_kafka_acl *acls, size_t count,
                            ab_error *err)
{
    rd_kafka_AclBindingFilter_t **unwanted = calloc(count, sizeof(rd_kafka_AclBindingFilter_t *));
    size_t n = 0;
    while (unwanted != NULL && n < count && (unwanted[n] = select_only(user, &acls[n])) != NULL)
        n++;
    ab_err e = n == count ? AB_ERR_OK : ab_fail(err, AB_ERR_NOMEM, "out of memory deleting ACLs");
    if (e == AB_ERR_OK) {
        ab_kafka_admin a =
            ab_kafka_admin_begin(rk, RD_KAFKA_ADMIN_OP_DELETEACLS, AB_KAFKA_REQUEST_MS);
        rd_kafka_DeleteAcls(rk, unwanted, n, a.options, a.queue);
        rd_kafka_event_t *event = ab_kafka_admin_await(&a);
        e = read_deleted(event, acls, err);
        rd_kafka_event_destroy(event);
    }
    if (unwanted != NULL)
        rd_kafka_AclBinding_destroy_array(unwanted, n);
    free(unwanted);
    return e;
}
