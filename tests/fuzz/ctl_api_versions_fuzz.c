/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a broker's answer to ApiVersions: what is taken can be judged, and names no level
 * below 0.
 */
#include "services/ctl/check/kafka/api_versions.h"
#include "services/ctl/check/kafka/broker_versions_priv.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_error err = {0};
    ab_api_versions v;
    if (ab_api_versions_read((ab_str){(const char *)data, size}, &v, &err) != AB_ERR_OK) {
        assert(err.code == AB_ERR_PARSE && err.text[0] != '\0');
        return 0;
    }
    ab_findings found;
    ab_findings_init(&found);
    ab_broker_versions_judge(&v, "broker", &found);
    assert(v.supported >= 0 && v.finalized >= 0);
    assert(found.complete && cJSON_GetArraySize(found.list) > 0);
    ab_findings_fini(&found);
    return 0;
}
