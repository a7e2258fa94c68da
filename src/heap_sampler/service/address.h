#ifndef HEAP_SAMPLER_SERVICE_ADDRESS_H
#define HEAP_SAMPLER_SERVICE_ADDRESS_H
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

struct hs_address {
    struct sockaddr_un socket;
    char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* The variables are read now, and never again: later Ruby code may change the environment at any moment. [gvl] */
void rb_hs_address_boot(void);
/* Field 22 of /proc/self/stat: clock ticks from the start of the machine to that of the process. [any] */
bool rb_hs_start_ticks(unsigned long long *ticks);
/* The address of this process as it is now. false: /proc says no time of start. [any] */
bool rb_hs_address(struct hs_address *address);
/* A socket that listens there, in a folder that was made where there was none, on a file that replaces one of a process
 * that is gone. -1, with errno: EPERM where the folder is another user's or open to others. [any] */
int rb_hs_address_listen(const struct hs_address *address);

/*
 * The sockets of the user's processes, which stand in one folder (address.h):
 * "PID-STARTTIME.sock".
 *
 * A process that was killed, or called exit! or exec, leaves its socket behind.
 * A program that forks a child for each job would leave one for each, for ever.
 * So every process that begins to listen removes the sockets at which no process listens.
 */

/* Removes the sockets of processes that have ended. The service's thread. */
void rb_hs_sockets_sweep(const char *folder);

#endif
