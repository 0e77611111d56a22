# SPDX-License-Identifier: Apache-2.0
# Strimzi's CRDs, made before the first test that needs them.
include_guard(GLOBAL)

set(AB_STRIMZI_DEV ${CMAKE_CURRENT_LIST_DIR}/strimzi-dev CACHE INTERNAL "Strimzi's CRDs, for tests that apply them")
add_test(NAME strimzi_crds COMMAND ${AB_STRIMZI_DEV} crds)
set_tests_properties(strimzi_crds PROPERTIES FIXTURES_SETUP strimzi TIMEOUT 900)
