# What is installed where, and the packages made of it: a .deb and an .rpm; packaging/make runs CPack, and makes a tarball of the same
# files (./dev package).

include(GNUInstallDirs)

find_program(PLUGHOST_LOWDOWN lowdown REQUIRED)

# plughost_man_page(NAME SECTION SOURCE… [COMPONENT COMPONENT]): from Markdown.
function(plughost_man_page name section)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" COMPONENT "")
  if(NOT arg_COMPONENT)
    set(arg_COMPONENT Unspecified)
  endif()
  set(page ${PROJECT_BINARY_DIR}/man/${name}.${section}.gz)
  add_custom_command(
    OUTPUT ${page}
    COMMAND ${PROJECT_SOURCE_DIR}/packaging/man/build ${page} ${name} ${section} ${PROJECT_VERSION} ${arg_UNPARSED_ARGUMENTS}
    DEPENDS ${arg_UNPARSED_ARGUMENTS} ${PROJECT_SOURCE_DIR}/packaging/man/build VERBATIM)
  list(APPEND documents ${page})
  set(documents ${documents} PARENT_SCOPE)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_FULL_MANDIR}/man${section} COMPONENT ${arg_COMPONENT})
endfunction()

set(packaging ${PROJECT_SOURCE_DIR}/packaging)
plughost_man_page(plughost 1 ${packaging}/man/plughost.1.md)
plughost_man_page(plughost-kubelet 1 ${packaging}/man/plughost-kubelet.1.md COMPONENT kubelet)
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
install(TARGETS plughost DESTINATION ${CMAKE_INSTALL_FULL_BINDIR})
install(FILES systemd/plughost.service DESTINATION ${lib}/systemd/system)
install(FILES packaging/plughost.sysusers DESTINATION ${lib}/sysusers.d RENAME plughost.conf)
install(FILES packaging/config.yaml DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/plughost)
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/plughost/plugins.d)
install(DIRECTORY plugins.d packaging/monitoring DESTINATION ${share}/plughost)
install(FILES docs/plughost.schema.json DESTINATION ${share}/plughost)
install(DIRECTORY systemd/drop-ins/ DESTINATION ${share}/plughost/systemd)
install(FILES packaging/selinux/plughost.cil DESTINATION ${share}/plughost/selinux)
install(FILES packaging/completion/plughost.bash
        DESTINATION ${share}/bash-completion/completions RENAME plughost)
install(FILES packaging/completion/_plughost DESTINATION ${share}/zsh/vendor-completions COMPONENT debian)
install(FILES packaging/completion/_plughost DESTINATION ${share}/zsh/site-functions COMPONENT rpm)
install(FILES README.md config.example.yaml packaging/debian/copyright ${changelog}.gz
        DESTINATION ${share}/doc/plughost)
# The copyrights and licences of what is linked in; packaging/make writes it.
install(FILES ${PROJECT_BINARY_DIR}/third-party.gz DESTINATION ${share}/doc/plughost OPTIONAL)
# The stand-in kubelet is a package of its own.
install(TARGETS plughost-kubelet DESTINATION ${CMAKE_INSTALL_FULL_BINDIR} COMPONENT kubelet)
install(FILES packaging/debian/copyright ${changelog}.gz ${PROJECT_BINARY_DIR}/third-party.gz
        DESTINATION ${share}/doc/plughost-kubelet COMPONENT kubelet OPTIONAL)
install(FILES packaging/debian/lintian-overrides-kubelet
        DESTINATION ${share}/lintian/overrides RENAME plughost-kubelet COMPONENT kubelet-debian)
install(DIRECTORY docs DESTINATION ${share}/doc/plughost)
install(FILES CHANGELOG.md DESTINATION ${share}/doc/plughost/docs)
install(FILES packaging/debian/lintian-overrides DESTINATION ${share}/lintian/overrides RENAME plughost COMPONENT debian)
install(FILES packaging/rpm/plughost.preset DESTINATION ${lib}/systemd/system-preset RENAME 90-plughost.preset COMPONENT rpm)

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()
set(CPACK_RPM_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})

set(CPACK_SET_DESTDIR ON)  # from the root directory on
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB RPM)
set(CPACK_PROJECT_CONFIG_FILE ${packaging}/cpack.cmake)

set(description
"One daemon on a node serves a kubelet device-plugin endpoint for each entry of
a YAML file: device nodes, USB devices, RDMA and PCI cards, GPUs, files of a
directory, numbers, and whatever a program lists. It follows hardware as it
comes and goes, and stays attached through restarts of the kubelet.")
set(CPACK_PACKAGE_HOMEPAGE_URL https://github.com/plughost/plughost)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION ${description})
# What the program needs, as tests/packaging/portable_test.py reads it, and what the maintainer scripts call.
set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "libc6 (>= 2.34), libudev1 (>= 183), init-system-helpers (>= 1.52), systemd | systemd-standalone-sysusers | passwd")
# Opened at run time, and only where the configuration has `apiServer`.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS libcurl4)
set(CPACK_RPM_PACKAGE_SUGGESTS libcurl)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${packaging}/debian/conffiles ${packaging}/debian/postinst ${packaging}/debian/prerm ${packaging}/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RPM_PACKAGE_DESCRIPTION ${description})
# rpmbuild reads what the program needs; this is for the scripts.
set(CPACK_RPM_PACKAGE_REQUIRES systemd)
set(CPACK_RPM_PRE_INSTALL_SCRIPT_FILE ${packaging}/rpm/pre)
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${packaging}/rpm/post)
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE ${packaging}/rpm/preun)
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE ${packaging}/rpm/postun)
set(CPACK_RPM_USER_FILELIST "%config(noreplace) /etc/plughost/config.yaml")
# The directories of other packages; what is in them is ours.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  /usr/lib/systemd /usr/lib/systemd/system /usr/lib/systemd/system-preset /usr/lib/sysusers.d ${share}/man ${share}/man/man1 ${share}/man/man5
  ${share}/bash-completion ${share}/bash-completion/completions ${share}/zsh ${share}/zsh/site-functions)
# The program is stripped already, and by a tool that knows its architecture. One build has the same bytes as another.
set(CPACK_RPM_SPEC_MORE_DEFINE
"%define __os_install_post %{nil}
%define _build_id_links none
%define _buildhost plughost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _binary_payload w9.gzdio")
include(CPack)
