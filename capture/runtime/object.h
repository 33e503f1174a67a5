/* What a program or library that coreplane cc linked says of itself. */
#ifndef OBJECT_H
#define OBJECT_H

struct object {
    const char *from, *to;           /* where it is loaded */
    const char *unseen, *unseen_end; /* what the assembler wrapper did not understand: texts, each ended by a zero */
};

void coreplane_object(const struct object *);
void coreplane_object_gone(const struct object *);
#endif
