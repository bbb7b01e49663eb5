# What is installed where, and the packages made of it: a .deb, and a tarball of the same files (./dev package).

include(GNUInstallDirs)

find_program(PLUGHOST_LOWDOWN lowdown REQUIRED)

# plughost_man_page(NAME SECTION SOURCE…): from Markdown.
function(plughost_man_page name section)
  set(page ${PROJECT_BINARY_DIR}/man/${name}.${section}.gz)
  add_custom_command(
    OUTPUT ${page}
    COMMAND ${PROJECT_SOURCE_DIR}/packaging/man/build ${page} ${name} ${section} ${PROJECT_VERSION} ${ARGN}
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/packaging/man/build VERBATIM)
  list(APPEND documents ${page})
  set(documents ${documents} PARENT_SCOPE)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_FULL_MANDIR}/man${section})
endfunction()

set(packaging ${PROJECT_SOURCE_DIR}/packaging)
plughost_man_page(plughost 1 ${packaging}/man/plughost.1.md)
# The manual of the configuration is the page.
plughost_man_page(plughost.yaml 5 ${packaging}/man/plughost.yaml.5.md ${PROJECT_SOURCE_DIR}/docs/configuration.md)

set(CPACK_PACKAGE_CONTACT "The plughost authors <plughost@example.com>")
string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changelog ${PROJECT_BINARY_DIR}/changelog)
configure_file(packaging/debian/changelog.in ${changelog} @ONLY)
add_custom_command(OUTPUT ${changelog}.gz COMMAND gzip -9nkf ${changelog} DEPENDS ${changelog} VERBATIM)
add_custom_target(documents ALL DEPENDS ${documents} ${changelog}.gz)

set(share ${CMAKE_INSTALL_FULL_DATADIR})
set(lib ${CMAKE_INSTALL_PREFIX}/lib)  # systemd's, on every architecture
set_target_properties(plughost PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/plughost")
install(TARGETS plughost RUNTIME_DEPENDENCY_SET libraries DESTINATION ${CMAKE_INSTALL_FULL_BINDIR})
# What not every distribution has, for the tarball; the package depends on Debian's.
install(RUNTIME_DEPENDENCY_SET libraries PRE_INCLUDE_REGEXES "^libprometheus-cpp" PRE_EXCLUDE_REGEXES ".*"
        DESTINATION ${lib}/plughost COMPONENT libraries)
install(FILES systemd/plughost.service DESTINATION ${lib}/systemd/system)
install(FILES packaging/plughost.sysusers DESTINATION ${lib}/sysusers.d RENAME plughost.conf)
install(FILES packaging/config.yaml DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/plughost)
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/plughost/plugins.d)
install(DIRECTORY plugins.d packaging/monitoring DESTINATION ${share}/plughost)
install(DIRECTORY systemd/drop-ins/ DESTINATION ${share}/plughost/systemd)
install(FILES packaging/completion/plughost.bash
        DESTINATION ${share}/bash-completion/completions RENAME plughost)
install(FILES packaging/completion/_plughost DESTINATION ${share}/zsh/vendor-completions)
install(FILES README.md config.example.yaml packaging/debian/copyright ${changelog}.gz
        DESTINATION ${share}/doc/plughost)
install(DIRECTORY docs DESTINATION ${share}/doc/plughost)
install(FILES CHANGELOG.md DESTINATION ${share}/doc/plughost/docs)
install(FILES packaging/debian/lintian-overrides DESTINATION ${share}/lintian/overrides RENAME plughost)

# From the root directory on, in both: the tarball is unpacked there.
set(CPACK_SET_DESTDIR ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PROJECT_CONFIG_FILE ${packaging}/debian/cpack.cmake)
set(CPACK_PACKAGE_FILE_NAME plughost-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE https://github.com/plughost/plughost)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"One daemon on a node serves a kubelet device-plugin endpoint for each entry of
a YAML file: device nodes, USB devices, RDMA and PCI cards, GPUs, files of a
directory, numbers, and whatever a program lists. It follows hardware as it
comes and goes, and stays attached through restarts of the kubelet.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What the maintainer scripts call.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "init-system-helpers (>= 1.52), systemd | systemd-standalone-sysusers | passwd")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${packaging}/debian/conffiles ${packaging}/debian/postinst ${packaging}/debian/prerm ${packaging}/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
