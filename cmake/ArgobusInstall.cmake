# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and `cpack -G DEB`'s package of it (configure that with
# -DCMAKE_INSTALL_PREFIX=/usr, so that the configuration comes to /etc).
include(GNUInstallDirs)
set(AB_ETC ${CMAKE_INSTALL_SYSCONFDIR})
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(AB_ETC /etc)
endif()

install(TARGETS argobus-principal argobus-agent argobusctl)
install(FILES examples/principal.yaml examples/agent.yaml DESTINATION ${AB_ETC}/argobus)
install(PROGRAMS deploy/kafka/provision DESTINATION ${CMAKE_INSTALL_DATADIR}/argobus/kafka)
install(DIRECTORY deploy/kafka/strimzi DESTINATION ${CMAKE_INSTALL_DATADIR}/argobus/kafka)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES deploy/systemd/argobus.sysusers DESTINATION lib/sysusers.d RENAME argobus.conf)

# Units hold absolute paths, which are known only once it is known where to install.
install(CODE "
    set(AB_ETC ${AB_ETC})
    set(AB_BIN \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR})
    cmake_path(ABSOLUTE_PATH AB_ETC BASE_DIRECTORY \${CMAKE_INSTALL_PREFIX})
    foreach(program principal agent)
        configure_file(${PROJECT_SOURCE_DIR}/deploy/systemd/argobus-\${program}.service.in
            \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/argobus-\${program}.service @ONLY)
    endforeach()")

set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON)
set(CPACK_PACKAGE_CONTACT "the argobus maintainers")
set(CPACK_PACKAGE_VENDOR argobus)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS libwebsockets-evlib-uv) # opened at run time
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/deploy/debian/conffiles)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
include(CPack)
