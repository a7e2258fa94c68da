#ifndef HEAP_SAMPLER_SERVER_ADDRESS_H
#define HEAP_SAMPLER_SERVER_ADDRESS_H
/*
 * Where this process can be asked: the path of its socket,
 *
 *     ${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}/ruby-heap-UID/PID-STARTTIME.sock
 *
 * UID is the effective user's, PID the process id in its own namespace, and
 * STARTTIME field 22 of /proc/PID/stat: a process that has got the same id later
 * has another one.  The folder belongs to the user alone (0700), and so does the
 * socket (0600).
 *
 * No MRI header.
 */
#include <stdbool.h>
#include <sys/un.h>

/* The variables are read now, and never again: later Ruby code may change the environment at any moment. [gvl] */
void rb_hs_address_boot(void);
/* The address of this process as it is now. false: /proc says no time of start. [any] */
bool rb_hs_address(struct sockaddr_un *address);
/* A socket that listens there.  The folder is made where there is none, and a file that an earlier process has left is
 * replaced.  Sockets in the folder at which no process listens are removed: a program that forks a child for each job would
 * leave one for each, for ever.  -1, with errno: EPERM where the folder is another user's or open to others. [any] */
int rb_hs_address_listen(const struct sockaddr_un *address);

#endif
