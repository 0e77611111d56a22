# SPDX-License-Identifier: Apache-2.0
# Helm, built before the first test that needs it.
include_guard(GLOBAL)

set(AB_HELM_DEV ${CMAKE_CURRENT_LIST_DIR}/helm-dev CACHE INTERNAL "Helm, for tests that render the chart")
add_test(NAME helm_install COMMAND ${AB_HELM_DEV} install)
set_tests_properties(helm_install PROPERTIES FIXTURES_SETUP helm TIMEOUT 3600)
