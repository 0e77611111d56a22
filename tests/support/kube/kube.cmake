# SPDX-License-Identifier: Apache-2.0
# One real Kubernetes API server with Argo CD's CRDs for all tests that need one: started, without any object, before
# the first of them, killed after the last. Its data are in the build folder. Tests keep apart by namespaces of their own.
include_guard(GLOBAL)

set(AB_KUBE_DEV ${CMAKE_CURRENT_LIST_DIR}/kube-dev)
set(AB_KUBE_ENV
    KUBE_DEV=${AB_KUBE_DEV}
    KUBE_DEV_HOME=${PROJECT_BINARY_DIR}/kube
    AB_KUBECONFIG=${PROJECT_BINARY_DIR}/kube/clusters/test/kubeconfig # may do everything
    CACHE INTERNAL "Environment of tests that need the API server")

add_test(NAME kube_start COMMAND ${AB_KUBE_DEV} fresh test)
add_test(NAME kube_stop COMMAND ${AB_KUBE_DEV} kill test)
# A machine that has not yet got the programs builds them first.
set_tests_properties(kube_start PROPERTIES FIXTURES_SETUP kube ENVIRONMENT "${AB_KUBE_ENV}" TIMEOUT 3600)
set_tests_properties(kube_stop PROPERTIES FIXTURES_CLEANUP kube ENVIRONMENT "${AB_KUBE_ENV}")
