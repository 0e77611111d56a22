/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects that are gone: what each kind of record reports. The rest of sweep.c is the folder's own.
 */
#pragma once

#include "sync/principal/state.h"

/**
 * An object that was here is gone, or is nobody's any more: end its key, once that is proved.
 *
 * @param of  the only agent that can have it; NULL: all can
 * @param orphan  what it deployed stays, if the end of it is observed; else its key says so
 * @param observed  the store observed this deletion, or the object is there and says itself that it
 * is for nobody. It passes without the guard when the watermark, read after it, is still ours. That
 * is proof: this process saw the object in its own store, somebody deleted that very object while
 * it was watched, and the store is the one that it was. Else it is inferred, and swept under the
 * guard.
 */
void ab_principal_note_missing(ab_principal *p, const struct agent_records *of, ab_str key,
                               bool orphan, bool observed);
/** The same of an Application, which only its agent has, and those whose it was before.
 * @param requested  its user asked for it on the object: it is ended at its agent at once */
void ab_principal_note_missing_app(ab_principal_app *app, bool orphan, bool requested,
                                   bool observed);
