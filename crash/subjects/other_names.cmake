# Writes to NAMES, as objcopy --redefine-syms reads it, a line for each function that OBJECTS define, for each variable that
# is their own, and for those of the compiler's runtime (holdfast/itm) that headers define: its name, and that name behind
# PREFIX. What has KEPT in its name keeps it. Other variables of headers are what all parts of a program share: they are in
# NAMES.shared. Run by cmake -P; NM lists symbols.
execute_process(COMMAND "${NM}" --defined-only --extern-only --format=posix ${OBJECTS}
                OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" symbols "${symbols}")
set(lines "")
set(shared "")
foreach(symbol IN LISTS symbols)
    if(NOT symbol MATCHES "^([^ ]+) ([TWDBRSVu]) " OR symbol MATCHES "${KEPT}")
        continue()
    endif()
    string(REGEX MATCH "^[^ ]+" name "${symbol}")
    if(symbol MATCHES " [Vu] " AND NOT name MATCHES "N8holdfast3itm")
        list(APPEND shared "${name}\n")
    else()
        list(APPEND lines "${name} ${PREFIX}${name}\n")
    endif()
endforeach()
foreach(list lines shared)
    list(REMOVE_DUPLICATES ${list})
    list(JOIN ${list} "" ${list})
endforeach()
file(WRITE "${NAMES}" "${lines}")
file(WRITE "${NAMES}.shared" "${shared}")
