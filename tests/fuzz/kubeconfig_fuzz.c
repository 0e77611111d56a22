/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text is read as a kubeconfig or refused with a reason, and what was read is complete. After
 * the line "---8<---" comes what a credential plugin printed.
 */
#include "store/kubernetes/access/exec_credential.h"
#include "store/kubernetes/access/kubeconfig.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define API "client.authentication.k8s.io/v1"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_plugin(const ab_kube_plugin *p)
{
    if (p->command == NULL)
        return;
    assert(p->api != NULL && p->env != NULL && p->args != NULL);
    assert(strcmp(p->args[0], p->command) == 0);
    for (char **v = p->env; *v != NULL; v++)
        assert(strchr(*v, '=') > *v);
}

static void read_config(ab_str text)
{
    const ab_kubeconfig_file file = {.path = "/etc/argobus/kubeconfig", .text = text};
    ab_kubeconfig k = {0};
    ab_error err = {0};
    ab_err e = ab_kubeconfig_read(&file, 1, NULL, &k, &err);
    if (e != AB_ERR_OK) {
        assert(e == AB_ERR_CONFIG && err.text[0] != '\0');
        return;
    }
    assert(strncmp(k.server, "http", 4) == 0 && k.server[strlen(k.server) - 1] != '/');
    assert(ab_kube_text_given(&k.cert) == ab_kube_text_given(&k.key));
    assert(k.ca.path == NULL || k.ca.path[0] == '/');
    assert(k.token.path == NULL || k.token.path[0] == '/');
    check_plugin(&k.plugin);
    ab_kubeconfig_fini(&k);
}

static void read_credential(ab_str json)
{
    ab_kube_credential c = {0};
    ab_error err = {0};
    ab_err e = ab_kube_credential_read(json, API, &c, &err);
    if (e != AB_ERR_OK) {
        assert((e == AB_ERR_UNAVAILABLE || e == AB_ERR_DENIED) && err.text[0] != '\0');
        return;
    }
    assert(c.token != NULL || (c.cert != NULL && c.key != NULL));
    ab_kube_credential_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "---8<---\n";
    const char *bytes = (const char *)data;
    const char *cut = size == 0 ? NULL : memmem(bytes, size, mark, sizeof(mark) - 1);
    ab_str config = {bytes, cut == NULL ? size : (size_t)(cut - bytes)};
    read_config(config);
    if (cut != NULL) {
        const char *rest = cut + sizeof(mark) - 1;
        read_credential((ab_str){rest, (size_t)(bytes + size - rest)});
    }
    return 0;
}
