/* jail ROOT FOLDER ID PROGRAM ARGUMENT...: runs the program in ROOT, in FOLDER of it, as user and group
   ID, with little time and room. */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void at_most(int what, rlim_t most) {
    struct rlimit limit = {most, most};
    setrlimit(what, &limit);
}

int main(int argc, char **argv) {
    if (argc < 5) return 98;
    unsigned id = (unsigned)atoi(argv[3]);
    if (chroot(argv[1]) || chdir(argv[2]) || setgroups(0, NULL) || setgid(id) || setuid(id)) {
        perror("jail");
        return 98;
    }
    at_most(RLIMIT_CPU, 5);
    at_most(RLIMIT_AS, 512UL << 20);
    at_most(RLIMIT_FSIZE, 1UL << 20);
    execv(argv[4], argv + 4);
    perror("jail");
    return 98;
}
