#ifndef HEAP_SAMPLER_SETTINGS_HTTP_ADDRESS_H
#define HEAP_SAMPLER_SETTINGS_HTTP_ADDRESS_H
/*
 * The value of http=: 127.0.0.1:6060, [::1]:6060, localhost:6060, :6060 (all
 * addresses of the machine), or unix:PATH.  Names other than localhost are not
 * looked up.  No MRI header. [any]
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A text that is valid, with its NUL. */
enum { HS_HTTP_TEXT_MAX = 128 };

struct hs_http_address {
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
        struct sockaddr_un local;
    } socket;
    socklen_t size;
    bool file;                  /* a Unix socket */
    bool loopback;              /* no other machine gets there */
    bool any_port;              /* port 0: the kernel chooses one, another for each process */
};

/* NULL, or what is wrong with it. */
const char *rb_hs_http_address_parse(const char *text, size_t len, struct hs_http_address *address);

#endif
