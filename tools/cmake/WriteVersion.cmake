# cmake -D SOURCE_DIR= -D TEMPLATE= -D OUTPUT= -D VERSION= -D COMPILER= -D BUILD_TYPE= -D CUDA=
#       -P this file
#
# A tree that is not a git checkout of its own (an unpacked archive, also one inside some other
# repository) has the commit "unknown".
set(COMMIT unknown)
set(DIRTY false)
find_program(GIT_PROGRAM git)
get_filename_component(above ${SOURCE_DIR} DIRECTORY)
if(GIT_PROGRAM)
  set(ENV{GIT_CEILING_DIRECTORIES} ${above})
  execute_process(COMMAND ${GIT_PROGRAM} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE described ERROR_QUIET RESULT_VARIABLE status
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0 AND described MATCHES "^([0-9a-f]+)(-dirty)?$")
    set(COMMIT ${CMAKE_MATCH_1})
    if(CMAKE_MATCH_2)
      set(DIRTY true)
    endif()
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)  # leaves an equal file alone
