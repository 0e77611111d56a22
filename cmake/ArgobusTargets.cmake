# SPDX-License-Identifier: Apache-2.0
# Two helpers and the flags that every target of ours shares.
include(CheckCCompilerFlag)

# Assertions stay in a release: the flags of CMake's release types would take them out. The libraries made of
# generated code do not link ab_flags, so this is for the whole tree.
add_compile_options(-UNDEBUG)

add_library(ab_flags INTERFACE)
target_include_directories(ab_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_definitions(ab_flags INTERFACE _GNU_SOURCE AB_VERSION="${PROJECT_VERSION}")
target_compile_options(ab_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
    -Wmissing-prototypes -Wvla -Wcast-qual -Wundef -Wformat=2 -Wwrite-strings
    -fno-common -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(AB_WERROR)
    target_compile_options(ab_flags INTERFACE -Werror)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    # snprintf into a bounded field is how we cut; gcc guesses at lengths only when it optimises.
    target_compile_options(ab_flags INTERFACE -Wno-format-truncation)
endif()
if(AB_SANITIZE)
    target_compile_options(ab_flags INTERFACE
        -fsanitize=${AB_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(ab_flags INTERFACE -fsanitize=${AB_SANITIZE})
endif()
if(AB_FUZZ)
    target_compile_options(ab_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(AB_HARDEN)
    target_compile_options(ab_flags INTERFACE
        -fstack-protector-strong -fPIE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    foreach(flag -fstack-clash-protection -fcf-protection) # not on every processor
        string(MAKE_C_IDENTIFIER "AB_HAS${flag}" known)
        check_c_compiler_flag(${flag} ${known})
        if(${known})
            target_compile_options(ab_flags INTERFACE ${flag})
        endif()
    endforeach()
    target_link_options(ab_flags INTERFACE -pie -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
if(AB_COVERAGE)
    target_compile_options(ab_flags INTERFACE --coverage)
    target_link_options(ab_flags INTERFACE --coverage)
endif()

# ab_library(NAME SOURCES a.c ... DEPS x ...): one static library per folder, named argobus::NAME.
function(ab_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
    add_library(ab_${name} STATIC ${ARG_SOURCES})
    add_library(argobus::${name} ALIAS ab_${name})
    target_link_libraries(ab_${name} PRIVATE ab_flags PUBLIC ${ARG_DEPS})
endfunction()

# ab_program(NAME SOURCES a.c ... DEPS x ...): an executable in bin/.
function(ab_program name)
    cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE ab_flags ${ARG_DEPS})
endfunction()

# ab_test(NAME LABEL unit|conformance|integration SOURCES ... DEPS ...): a cmocka program for ctest.
function(ab_test name)
    cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
    ab_program(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} PkgConfig::cmocka)
    add_test(NAME ${name} COMMAND ${name})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 300) # a hang ends; a busy machine may take long
    endif()
    if(CMAKE_CROSSCOMPILING) # an emulator runs it
        math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 10")
    endif()
    set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()

# ab_fuzz(NAME SOURCES ... DEPS ...): a libFuzzer target where AB_FUZZ is on; elsewhere a program that
# replays the kept corpus tests/fuzz/corpora/NAME, run by ctest under the label fuzz.
function(ab_fuzz name)
    cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
    if(AB_FUZZ)
        ab_program(fuzz_${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS})
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    else()
        ab_program(fuzz_${name} SOURCES ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c
                   DEPS ${ARG_DEPS})
        add_test(NAME fuzz_${name}
                 COMMAND fuzz_${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpora/${name})
        set_tests_properties(fuzz_${name} PROPERTIES LABELS unit TIMEOUT 300)
    endif()
endfunction()
