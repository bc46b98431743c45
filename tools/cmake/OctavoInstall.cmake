# The installed package: find_package(octavo COMPONENTS core ref_cpu) and pkg-config octavo (core).
#
# tests/install builds a consumer both ways from an installed and then moved prefix.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS octavo_core octavo_ref_cpu EXPORT octavoTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT octavo_dev
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT octavo_dev)
install(EXPORT octavoTargets NAMESPACE octavo::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/octavo COMPONENT octavo_dev)

# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/octavoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/octavoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/octavoConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/octavo)
install(FILES
  ${PROJECT_BINARY_DIR}/package/octavoConfig.cmake
  ${PROJECT_BINARY_DIR}/package/octavoConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/octavo COMPONENT octavo_dev)

# The way from the .pc file back to the prefix, so that an installed tree can be moved.
file(RELATIVE_PATH OCTAVO_PC_TO_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" OCTAVO_PC_TO_PREFIX "${OCTAVO_PC_TO_PREFIX}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/octavo.pc.in ${PROJECT_BINARY_DIR}/package/octavo.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/octavo.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT octavo_dev)

if(TARGET octavo)
  install(TARGETS octavo RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT octavo_program)
endif()
if(TARGET octavo_pages)
  install(FILES ${PROJECT_BINARY_DIR}/share/man RENAME octavo.1
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT octavo_program)
  install(FILES ${PROJECT_BINARY_DIR}/share/completion_bash RENAME octavo
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT octavo_program)
  install(FILES ${PROJECT_BINARY_DIR}/share/completion_zsh RENAME _octavo
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT octavo_program)
  install(FILES ${PROJECT_BINARY_DIR}/share/completion_fish RENAME octavo.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT octavo_program)
endif()
