#ifndef HEAP_SAMPLER_SERVICE_FILES_H
#define HEAP_SAMPLER_SERVICE_FILES_H
/*
 * The descriptors of the service's thread.  A forked child inherits them but not
 * the thread: it closes all that stand in this list, or whoever asked the parent
 * would wait for the child to end.  A descriptor is opened and listed, or
 * taken off and closed, while the sampler's lock is held, and so is fork(2) called:
 * the list is always right.
 *
 * No MRI header. [any] [free]
 */
#include <sys/socket.h>

enum { HS_FILES_MAX = 320 };

/* Each returns a descriptor that is listed, closed by exec, and never blocks; or -1, with errno. */
int rb_hs_file_socket(int domain);
int rb_hs_file_accept(int listener);
int rb_hs_file_folder(const char *path);
int rb_hs_file_epoll(void);
int rb_hs_file_event(void);
void rb_hs_file_close(int fd);
/* In the child. [gvl] */
void rb_hs_files_after_fork(void);

#endif
