/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the HTTP client: how the loop drives curl, how its connections are made, and what
 * its errors mean.
 */
#pragma once

#include "net/http/client.h"

#include <curl/curl.h>

/* client_loop.c: a curl multi handle on a libuv loop. */
typedef struct ab_http_loop ab_http_loop;

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
