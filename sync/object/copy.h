/* SPDX-License-Identifier: Apache-2.0
 *
 * Copying parts of objects, their text unchanged.
 */
#pragma once

#include "base/json/span.h"

/** Member "annotations" with those that are what the user wants: not requests (refresh), not
 * bookkeeping (last-applied and other copies of the object, notifications that were sent, ours).
 * Nothing when there are none: bookkeeping that comes first must not look like a change of the
 * desired state. */
void ab_copy_desired_annotations(ab_spanw *w, ab_spanv annotations);
/** The same of an object of the control plane, to be sent: nor those that say whose an agent's
 * object is. Where they are on the control plane's, it was made from a copy of an agent's, or is
 * part of an Application there. */
void ab_copy_sent_annotations(ab_spanw *w, ab_spanv annotations);
/** Member "labels" for the other side, where it is there: without the one by which Argo CD would
 * take the object for a part of an Application of that side. */
void ab_copy_labels(ab_spanw *w, ab_spanv labels);
