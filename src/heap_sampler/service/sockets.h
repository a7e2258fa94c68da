#ifndef HEAP_SAMPLER_SERVICE_SOCKETS_H
#define HEAP_SAMPLER_SERVICE_SOCKETS_H
/*
 * The sockets of the user's processes, which stand in one folder (address.h):
 * "PID-STARTTIME.sock".
 *
 * A process that was killed, or called exit! or exec, leaves its socket behind.
 * A program that forks a child for each job would leave one for each, for ever.
 * So every process that begins to listen takes those away that nobody listens at.
 *
 * No MRI header.  Contract: the service's thread.
 */
#include <stdbool.h>
#include <sys/un.h>

struct hs_socket {
    long pid;
    unsigned long long start;
};

/* Calls `each` for all in the folder, in no order. */
void rb_hs_sockets_each(const char *folder, void (*each)(const struct hs_socket *socket, void *data), void *data);
/* Is its process there? A process of another namespace is not. */
bool rb_hs_socket_alive_p(const struct hs_socket *socket);
/* false: its path is too long. */
bool rb_hs_socket_address(struct sockaddr_un *address, const char *folder, const struct hs_socket *socket);
/* Takes those away whose process is not there and at which nobody listens. */
void rb_hs_sockets_sweep(const char *folder);

#endif
