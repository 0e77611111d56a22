/* SPDX-License-Identifier: Apache-2.0
 *
 * What a check has found, in the order in which it was looked at.
 */
#pragma once

#include "base/json/document.h"
#include "services/ctl/command.h"

typedef enum { AB_FOUND_OK, AB_FOUND_WARNING, AB_FOUND_ERROR } ab_severity;

typedef struct {
    cJSON *list;
    bool failed;   /* one of them is an error */
    bool complete; /* memory was enough */
} ab_findings;

void ab_findings_init(ab_findings *f);
void ab_findings_fini(ab_findings *f);
/**
 * Add one.
 * @param where   an option, a file, a resource
 * @param remedy  what to do; NULL with AB_FOUND_OK
 */
AB_PRINTF(5, 6)
void ab_findings_add(ab_findings *f, ab_severity severity, const char *where, const char *remedy,
                     const char *format, ...);
/**
 * Add the version of something, as AB_FOUND_OK.
 * @param version  printable; for programs alone: it is to be in the text, too
 */
AB_PRINTF(4, 5)
void ab_findings_add_version(ab_findings *f, const char *where, ab_str version, const char *format,
                             ...);
/** Print them. @return AB_CTL_OK, or FAILED with an error among them */
int ab_findings_print(const ab_findings *f, const ab_ctl *ctl);
