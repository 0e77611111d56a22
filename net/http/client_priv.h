/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the HTTP client: its calls (client.c), how the loop drives curl, how its connections
 * are made, how heads are read, and what errors mean. client.c calls the others.
 */
#pragma once

#include "net/http/client.h"

#include <curl/curl.h>
#include <sys/queue.h>

typedef struct ab_http_loop ab_http_loop;

struct ab_http_call {
    ab_http *http;
    LIST_ENTRY(ab_http_call) at;
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    ab_http_request request; /* its borrowed parts are not used after the start */
    bool added;              /* curl has it */
    bool warned;             /* idle for too long, unless something is there to be read */
    bool cancelled;
    bool over;  /* it is to be finished, with `code` */
    bool ended; /* its on_done is running */
    CURLcode code;
    uint64_t began;   /* uv_now() */
    uint64_t heard;   /* when something came last, or `began` */
    ab_err data_code; /* what on_data returned */
    bool told_head;
    bool paused; /* by the caller */
    bool kicked; /* curl is to be told of a change of what is paused */
    char said[CURL_ERROR_SIZE];
};

struct ab_http {
    uv_loop_t *loop;
    ab_http_loop *curl;
    CURL *model;     /* copied for each call */
    char *sni;       /* or NULL */
    uv_timer_t idle; /* due when the first call may have been idle for too long */
    LIST_HEAD(, ab_http_call) calls;
    size_t added;    /* of them, those that curl has */
    uint64_t heard;  /* when something came last, of any call */
    bool is_http1;   /* what came last: each call has a connection, which ends with it */
    bool only_http1; /* as the options say: no call has read what another one waits for */
    uv_timer_t kick; /* active: a call is kicked */
    unsigned handles;
    bool freed; /* by an upcall; nothing is touched any more, the loop frees the memory */
};

/* client_loop.c: a curl multi handle on a libuv loop. */
/** @param turned  called after curl worked on its transfers: its messages may be read, and
 * transfers added and removed. `ok` false: curl could not be served, all transfers are lost
 *  @return NULL when out of memory */
ab_http_loop *ab_http_loop_new(uv_loop_t *loop, void (*turned)(void *arg, bool ok), void *arg);
/** No transfer may be left in it. The memory lives until the loop has closed the handles. */
void ab_http_loop_free(ab_http_loop *l);
CURLM *ab_http_loop_multi(const ab_http_loop *l);
/** A transfer was taken out. What curl 7.88 has already read from the connection for the others
 * would lie there until the server sends more: have it look, soon. */
void ab_http_loop_nudge(ab_http_loop *l);
/** True inside of curl's callbacks: curl takes no calls about its transfers then. */
bool ab_http_loop_inside(const ab_http_loop *l);

/** curl_easy_pause, during which upcalls are made. */
CURLcode ab_http_loop_pause(ab_http_loop *l, CURL *easy, int what);

/* client_head.c */
/** A line of the answer's head came: tell the head when it is whole. @return AB_ERR_TOOBIG, NOMEM
 */
AB_MUST_USE ab_err ab_http_read_head(ab_http_call *c, ab_str line);

/* client_options.c */
/** A handle to copy for each call (curl_easy_duphandle). @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_http_easy_new(const ab_http_options *options, CURL **out, ab_error *err);
/** Set the URL; with `sni` the connection goes to the URL's host and asks for that name there.
 *  Lists that curl only borrows are appended to `connect_to` and `headers`.
 *  @return false when out of memory */
bool ab_http_easy_set_url(CURL *easy, const char *url, const char *sni,
                          struct curl_slist **connect_to, struct curl_slist **headers);

/** Append a copy of `text`, which may be NULL for want of memory. @return false when there is none
 */
bool ab_http_list_append(struct curl_slist **list, const char *text);

/* client_error.c */
/** What `code` means for the caller, with a text that says what to do. @param said  curl's text */
ab_err ab_http_explain(CURL *easy, CURLcode code, const char *said, ab_error *err);
