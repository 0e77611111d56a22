/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of CloudEvents context attributes and extensions, of record keys and of marker annotations:
 * the one place where they are spelled.
 */
#pragma once

/* CloudEvents 1.0 core attributes. */
#define AB_CE_ID              "id"
#define AB_CE_SOURCE          "source"
#define AB_CE_SPECVERSION     "specversion"
#define AB_CE_TYPE            "type"
#define AB_CE_SUBJECT         "subject"
#define AB_CE_TIME            "time"
#define AB_CE_DATASCHEMA      "dataschema"
#define AB_CE_DATACONTENTTYPE "datacontenttype"

/* argocd-agent's extensions. */
#define AB_CE_RESOURCEID   "resourceid" /* <name>_<uid> */
#define AB_CE_EVENTID      "eventid"    /* <name>_<uid>_<resourceVersion> */
#define AB_CE_SENTAT       "sentat"
#define AB_CE_PRINCIPALUID "principaluid"

/* Ours. */
#define AB_CE_PARTITIONKEY "partitionkey" /* the record key; registered CloudEvents extension */
#define AB_CE_WRITEREPOCH  "writerepoch"  /* decimal uint64: rises at each start of a writer */
#define AB_CE_OBJVERSION   "objversion"   /* decimal uint64: rises with each event of a writer */
#define AB_CE_LOGID        "logid" /* decimal uint64, in hello: the epoch that began this log */
#define AB_CE_CONTENTHASH  "contenthash"  /* 32 hex digits over what the writer compares */
#define AB_CE_ACKNOWLEDGES "acknowledges" /* in gRPC's acknowledgement: id of the event */
#define AB_CE_TRACEPARENT                                                                          \
    "traceparent" /* W3C Trace Context: the span that sends it; extension Distributed Tracing */
#define AB_CE_EXPIRYTIME                                                                           \
    "expirytime" /* RFC 3339: live events after it are dropped; registered extension */
#define AB_CE_CORRELATIONID "correlationid" /* live access: the session */
#define AB_CE_SEQUENCE      "sequence" /* live access: decimal uint64, from 0 in each direction */
/* "true": the object lives in the principal's own namespace there and in the agent's own namespace
 * here (destination mapping), whatever the key says. */
#define AB_CE_REMAPPED "namespaceremapped"
/* "true", in a tombstone of an Application: what it deployed stays. The hub's object had none of
 * Argo CD's finalizers that delete it when it went. */
#define AB_CE_ORPHAN "orphan"

/* Values of attribute source. A transport refuses an event whose source is not its peer. */
#define AB_SOURCE_PRINCIPAL "/principal"
#define AB_SOURCE_AGENT     "/agent/" /* + the agent's name */

/* Record keys: objects are "<kind>/<namespace>/<name>", names as at the sender. */
#define AB_KEY_COMMAND "cmd/"   /* + event id */
#define AB_KEY_ACK     "ack/"   /* + event id of the command it answers */
#define AB_KEY_ERROR   "error/" /* + object key that could not be written, as at the sender */
#define AB_KEY_ERROR_REMAPPED                                                                      \
    "error/remapped/"           /* the same of a remapped object, whose key another may have too */
#define AB_KEY_CONTROL   "ctl/" /* what the two ends tell each other of themselves */
#define AB_KEY_HELLO     "ctl/hello"
#define AB_KEY_RESYNC    "ctl/resync"
#define AB_KEY_INVENTORY "ctl/inventory/" /* + number of the page */

/* Annotations of argocd-agent that users see. */
#define AB_ANN_SOURCE_UID    "argocd.argoproj.io/source-uid"
#define AB_ANN_PRINCIPAL_UID "argocd.argoproj.io/principal-uid"
#define AB_ANN_REFRESH       "argocd.argoproj.io/refresh"
/* What argocd-server sets with a refresh: that sources are to be hydrated too, and since Argo
 * CD 3.6 when each was asked for. */
#define AB_ANN_HYDRATE           "argocd.argoproj.io/hydrate"
#define AB_ANN_HYDRATE_TIMESTAMP "argocd.argoproj.io/hydrate-timestamp"
#define AB_ANN_REFRESH_TIMESTAMP "argocd.argoproj.io/refresh-timestamp"
/* All of them. For an initialiser. */
#define AB_ANN_WITH_REFRESH    AB_ANN_HYDRATE, AB_ANN_HYDRATE_TIMESTAMP, AB_ANN_REFRESH_TIMESTAMP
#define AB_ANN_MISMATCH_POLICY "argocd.argoproj.io/source-uid-mismatch-policy"
#define AB_ANN_ADOPTION_POLICY "argocd.argoproj.io/adoption-policy"
#define AB_ANN_LAST_APPLIED    "kubectl.kubernetes.io/last-applied-configuration"
#define AB_ANN_LAST_UPDATED    "argocd-agent.argoproj.io/last-updated"
#define AB_ANN_REMAPPED        "argocd.argoproj.io/namespace-remapped"
/* Whose part the object is, by annotation and by label: Argo CD prunes it with that Application. */
#define AB_ANN_TRACKING_ID   "argocd.argoproj.io/tracking-id"
#define AB_LABEL_INSTANCE    "app.kubernetes.io/instance"
#define AB_LABEL_IGNORE_SYNC "argocd-agent.argoproj-labs.io/ignore-sync"

/* Copies of a whole object, a Secret's data too, that other tools than kubectl keep on it: kapp,
 * Rancher, operators of Banzai Cloud and those made with kopf, qbec. For an initialiser. */
#define AB_ANN_COPIES                                                                              \
    "kapp.k14s.io/original", "objectset.rio.cattle.io/applied", "banzaicloud.com/last-applied",    \
        "kopf.zalando.org/last-handled-configuration", "qbec.io/last-applied"

/* Which notifications of an Application were sent, as Argo CD's notifications-controller beside it
 * remembers. */
#define AB_ANN_NOTIFIED "notified.notifications.argoproj.io"

/* What Argo CD calls its own objects. */
#define AB_LABEL_SECRET_TYPE                                                                       \
    "argocd.argoproj.io/secret-type" /* repository, repo-creds, cluster                            \
                                      */
#define AB_NAME_GPG_KEYS "argocd-gpg-keys-cm"
/* Argo CD's name of the cluster that it runs in; no agent has it. */
#define AB_NAME_LOCAL_CLUSTER "in-cluster"
/* Of an Application: when a user approved that resources with Prune=confirm or Delete=confirm are
 * deleted. It counts for what began before, or then. */
#define AB_ANN_DELETION_APPROVED "argocd.argoproj.io/deletion-approved"
/* Of a cluster Secret: an application-controller leaves the cluster alone. */
#define AB_ANN_SKIP_RECONCILE "argocd.argoproj.io/skip-reconcile"
/* Of an Application: what it deployed is deleted with it. May go on with a slash and how. */
#define AB_FINALIZER_RESOURCES "resources-finalizer.argocd.argoproj.io"

/* Annotations of argobus. */
#define AB_ANN_PREFIX         "argobus.io/"
#define AB_ANN_OPERATION_ID   "argobus.io/operation-id"   /* hub: which request .operation is */
#define AB_ANN_REFRESH_ID     "argobus.io/refresh-id"     /* hub: which request the refresh is */
#define AB_ANN_LAST_OPERATION "argobus.io/last-operation" /* agent: last set-operation executed */
#define AB_ANN_LAST_REFRESH   "argobus.io/last-refresh"   /* agent: last refresh executed */
#define AB_ANN_MIRROR         "argobus.io/mirror-version" /* hub: epoch.version/agent of it */
#define AB_ANN_CONFIRM        "argobus.io/confirm-deletions" /* hub, cluster Secret: token of a hold */
#define AB_ANN_FORMER_UID     "argobus.io/former-source-uid" /* agent: source-uid while managed */
#define AB_ANN_MODE           "argobus.io/mode"              /* hub: cluster Secret, of its agent */
#define AB_ANN_STATUS_VERSION "argobus.io/status-version"    /* hub: epoch.version/agent of it */
#define AB_ANN_NAME           "argobus.io/name" /* both: of the object that it was written on */
