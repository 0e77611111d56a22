/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps through UTF-8 (RFC 3629) one character at a time.
 */
#pragma once

#include "base/core/buf.h"

/** Length in bytes (1 to 4) of the well-formed character at the start of `s`; 0 when there is none.
 */
size_t ab_utf8_length(ab_str s);
/** The code point at the start of `s`, which must be well-formed (ab_utf8_length is not 0). */
uint32_t ab_utf8_decode(ab_str s);
/** Write `code_point`, which must be below 0x110000 and not a surrogate. @return how many bytes */
size_t ab_utf8_encode(uint32_t code_point, char out[4]);
