# cmake -DKEPT=folder -P trim_kept.cmake: of what nvcc keeps, 25 MB a source, only PTX and cubins
# are read by anybody.
file(GLOB files ${KEPT}/*)
list(FILTER files EXCLUDE REGEX "\\.(ptx|cubin)$")
if(files)
  file(REMOVE ${files})
endif()
