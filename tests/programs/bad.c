/* Programs that cannot be recorded whole. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int many[1000];

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    for (int n = 0; n < 300000; n++) many[n % 1000] = n;
    if (!strcmp(how, "crash")) abort();
    if (!strcmp(how, "fork")) return fork() < 0;
    if (!strcmp(how, "fail")) return 3;
    if (!strcmp(how, "exec")) execl("/bin/true", "true", (char *)NULL);
    return 0;
}
