# Read by CPack for each kind of package: the Debian one has no libraries of its own, and its debug information is a package
# beside it (plughost-dbgsym, a .ddeb), which CPack makes from what is not stripped yet.
if(CPACK_GENERATOR STREQUAL "DEB")
  list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build)
  set(CPACK_INSTALL_CMAKE_PROJECTS ${build} plughost Unspecified /)
  set(CPACK_STRIP_FILES OFF)
  set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
endif()
