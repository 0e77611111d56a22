# SPDX-License-Identifier: Apache-2.0
# Every library argobus links, as imported targets. One library per job: docs/decisions/ says why.
find_package(PkgConfig REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(uv REQUIRED IMPORTED_TARGET libuv>=1.44)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
set(AB_RDKAFKA_VERSION 2.0.2) # the package depends on it too
pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET rdkafka>=${AB_RDKAFKA_VERSION})
pkg_check_modules(protobuf_c REQUIRED IMPORTED_TARGET libprotobuf-c>=1.4)
pkg_check_modules(cjson REQUIRED IMPORTED_TARGET libcjson>=1.7.15)
pkg_check_modules(curl REQUIRED IMPORTED_TARGET libcurl>=7.87)
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET libnghttp2>=1.52)
find_package(wslay CONFIG REQUIRED) # Debian's libwslay-dev has no file for pkg-config
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib>=1.2)
pkg_check_modules(crypt REQUIRED IMPORTED_TARGET libcrypt>=4.4)
pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3>=3.40)
find_program(PROTOC_C protoc-c REQUIRED)
if(AB_TESTS)
    pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka>=1.1)
endif()
