# Read by CPack for each kind of package.
list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build)
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_INSTALL_CMAKE_PROJECTS "${build};plughost;Unspecified;/;${build};plughost;debian;/")
  # The debug information is a package beside it (plughost-dbgsym, a .ddeb), which CPack makes from what is not stripped yet.
  set(CPACK_STRIP_FILES OFF)
  set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
else()
  set(CPACK_INSTALL_CMAKE_PROJECTS "${build};plughost;Unspecified;/;${build};plughost;rpm;/")
endif()
