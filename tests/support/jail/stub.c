/* Stands for every program: appends how many words it was given and the words to /log, each ended by
   a NUL, in one write; then ends with the status that the test asked for. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char record[1 << 20];

int main(int argc, char **argv) {
    /* bash calls `.missing NAME ARGUMENT...` for a program that it does not find. */
    const char *slash = strrchr(argv[0], '/');
    int first = strcmp(slash ? slash + 1 : argv[0], ".missing") == 0;
    size_t used = (size_t)sprintf(record, "%d", argc - first) + 1;
    for (int i = first; i < argc; i++) {
        size_t size = strlen(argv[i]) + 1;
        if (used + size > sizeof record) return 99;
        memcpy(record + used, argv[i], size);
        used += size;
    }
    int log = open("/log", O_WRONLY | O_APPEND);
    if (log < 0 || write(log, record, used) != (ssize_t)used) return 99;
    const char *status = getenv("STUB_STATUS");
    return status ? atoi(status) : 99;
}
