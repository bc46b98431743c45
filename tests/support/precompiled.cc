// Nothing: the source that the headers which tests share are compiled with (tests/CMakeLists.txt).
