# SPDX-License-Identifier: Apache-2.0
# A node for the API server of kube.cmake, there for the tests that need it: pods run, and have logs and terminals.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/../kube/kube.cmake)

add_test(NAME kubelet_start COMMAND ${CMAKE_CURRENT_LIST_DIR}/kubelet-dev start test)
add_test(NAME kubelet_stop COMMAND ${CMAKE_CURRENT_LIST_DIR}/kubelet-dev stop test)
set_tests_properties(kubelet_start PROPERTIES FIXTURES_SETUP kubelet FIXTURES_REQUIRED kube
    ENVIRONMENT "${AB_KUBE_ENV}" TIMEOUT 600)
set_tests_properties(kubelet_stop PROPERTIES FIXTURES_CLEANUP kubelet FIXTURES_REQUIRED kube ENVIRONMENT "${AB_KUBE_ENV}")
