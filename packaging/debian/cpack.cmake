# Read by CPack for each kind of package: the Debian one has no libraries of its own.
if(CPACK_GENERATOR STREQUAL "DEB")
  list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build)
  set(CPACK_INSTALL_CMAKE_PROJECTS ${build} plughost Unspecified /)
endif()
