/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/settings/rows.h"

ab_err ab_kafka_row_set(rd_kafka_conf_t *conf, const ab_kafka_row *row, ab_error *err)
{
    char why[256];
    if (row->value == NULL)
        return AB_ERR_OK;
    if (rd_kafka_conf_set(conf, row->key, row->value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_CONFIG, "%s: %s", row->option == NULL ? row->key : row->option, why);
}

ab_err ab_kafka_rows_set(rd_kafka_conf_t *conf, const ab_kafka_row *rows, size_t count,
                         ab_error *err)
{
    ab_err e = AB_ERR_OK;
    for (size_t i = 0; i < count && e == AB_ERR_OK; i++)
        e = ab_kafka_row_set(conf, &rows[i], err);
    return e;
}
