/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/page/assets.h"

#include "services/principal/page/page_files.inc" /* made by the build of assets/ */

#define HTML   "text/html; charset=utf-8"
#define STYLE  "text/css; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"

static const ab_page_asset rows[] = {
    {"/", HTML, page_html, sizeof(page_html)},
    {"/page.css", STYLE, page_css, sizeof(page_css)},
    {"/page.js", SCRIPT, page_js, sizeof(page_js)},
    {"/agent.js", SCRIPT, agent_js, sizeof(agent_js)},
    {"/api.js", SCRIPT, api_js, sizeof(api_js)},
    {"/detail.js", SCRIPT, detail_js, sizeof(detail_js)},
    {"/extension-argobus.js", SCRIPT, extension_argobus_js, sizeof(extension_argobus_js)},
    {"/fleet.js", SCRIPT, fleet_js, sizeof(fleet_js)},
    {"/stream.js", SCRIPT, stream_js, sizeof(stream_js)},
    {"/table.js", SCRIPT, table_js, sizeof(table_js)},
};

const ab_page_asset *ab_page_asset_find(ab_str path)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (ab_str_is(path, rows[i].path))
            return &rows[i];
    return NULL;
}
