# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and `cpack -G DEB`'s package of it. Units and configuration get their paths when
# they are installed, not before: so the package is made of the very programs of the build folder that was tested.
include(GNUInstallDirs)
set(AB_ACCOUNTS deploy/systemd/argobus) # .sysusers, .tmpfiles

install(TARGETS argobus-principal argobus-agent argobusctl)
# The same program as a plugin of kubectl.
install(CODE "
    file(CREATE_LINK argobusctl
        \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/kubectl-argobus SYMBOLIC)")
set(AB_CTL_PAGES ${PROJECT_BINARY_DIR}/services/ctl/argobusctl)
install(FILES ${AB_CTL_PAGES}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${AB_CTL_PAGES}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME argobusctl)
install(FILES ${AB_CTL_PAGES}.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _argobusctl)
install(FILES ${AB_CTL_PAGES}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(PROGRAMS deploy/kafka/provision DESTINATION ${CMAKE_INSTALL_DATADIR}/argobus/kafka)
install(DIRECTORY deploy/kafka/strimzi DESTINATION ${CMAKE_INSTALL_DATADIR}/argobus/kafka)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${AB_ACCOUNTS}.sysusers DESTINATION lib/sysusers.d RENAME argobus.conf)
install(FILES ${AB_ACCOUNTS}.tmpfiles DESTINATION lib/tmpfiles.d RENAME argobus.conf)

# /usr has its configuration in /etc, /usr/local has it in /usr/local/etc. What is there already is the operator's.
install(CODE "
    set(AB_BIN \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR})
    set(AB_ETC \${CMAKE_INSTALL_PREFIX}/etc)
    if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
        set(AB_ETC /etc)
    endif()
    foreach(program principal agent)
        configure_file(${PROJECT_SOURCE_DIR}/deploy/systemd/argobus-\${program}.service.in
            \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/argobus-\${program}.service @ONLY)
        if(NOT EXISTS \$ENV{DESTDIR}\${AB_ETC}/argobus/\${program}.yaml)
            file(INSTALL ${PROJECT_SOURCE_DIR}/examples/\${program}.yaml DESTINATION \${AB_ETC}/argobus
                PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ)
        endif()
    endforeach()")

set(AB_DEBIAN ${PROJECT_SOURCE_DIR}/deploy/debian)
set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "the argobus maintainers")
set(CPACK_PACKAGE_VENDOR argobus)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON) # strips the programs; their symbols come into argobus-dbgsym
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The symbols of librdkafka ask for less than the fixes that we need.
# The maintainer scripts call systemd-sysusers and systemd-tmpfiles.
string(CONCAT CPACK_DEBIAN_PACKAGE_DEPENDS "librdkafka1 (>= ${AB_RDKAFKA_VERSION}), "
    "systemd | systemd-standalone-sysusers, systemd | systemd-standalone-tmpfiles")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${AB_DEBIAN}/conffiles ${AB_DEBIAN}/postinst ${AB_DEBIAN}/prerm ${AB_DEBIAN}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
include(CPack)
