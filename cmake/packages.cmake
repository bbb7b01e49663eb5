# Libraries of one or two files each.
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(doctest REQUIRED)

pkg_check_modules(udev REQUIRED IMPORTED_TARGET libudev)
