/* A file written through the C library, in many ways. `./stream FILE` */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char text[3000], line[64];
    if (argc != 2) return 2;
    FILE *f = fopen(argv[1], "w+");
    if (!f) return 3;
    for (int n = 0; n < 2999; n++) text[n] = (char)('a' + n % 26);
    text[2999] = 0;
    for (int n = 0; n < 5; n++) {
        fprintf(f, "%d %s\n", n, "formatted");
        fputs(text, f);
        fputc('x', f);
        putc('\n', f);
        fwrite(text, 7, 300, f);
    }
    fseek(f, 100, SEEK_SET);
    fputs("in the middle", f);
    fflush(f);
    fseek(f, 0, SEEK_SET);
    if (!fgets(line, sizeof line, f)) return 4;
    printf("%s", line);
    fseek(f, 0, SEEK_CUR);
    fputs("after reading", f);
    fclose(f);
    f = fopen(argv[1], "a");
    setvbuf(f, NULL, _IOLBF, 0);
    fputs("a line\nand half of one", f);
    fclose(f);
    f = fopen(argv[1], "r+");
    setvbuf(f, NULL, _IONBF, 0);
    fputs("start", f);
    fsync(fileno(f));
    f = fopen(argv[1], "a");
    fputs("held back until the end", f);
    return 0;
}
