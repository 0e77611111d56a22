/* SPDX-License-Identifier: Apache-2.0
 *
 * The stamp on an object of the hub: which event of which agent is in effect there,
 * "<epoch>.<version>/<agent>/<hash>". Agent and hash may be missing.
 */
#pragma once

#include "base/core/digest.h"
#include "sync/version.h"

typedef struct {
    ab_version version;
    ab_str agent;   /* absent: it names none; borrowed from the text */
    ab_digest hash; /* of the event's content; none: it names none, or what is not a hash */
} ab_stamp;

/* With a DNS label as agent, and the NUL. */
#define AB_STAMP_TEXT (AB_VERSION_TEXT + 64 + AB_DIGEST_HEX)

/** @return false when the text does not begin with a version */
bool ab_stamp_parse(ab_str text, ab_stamp *out);
void ab_stamp_format(const ab_stamp *stamp, char out[AB_STAMP_TEXT]);
