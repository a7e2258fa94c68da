/* See settings/http_address.h. */
#include "heap_sampler/settings/http_address.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

static const char no_address[] = "must be ADDRESS:PORT, such as 127.0.0.1:6060 or [::1]:6060, or unix:PATH, or off";

static const char *
parse_file(const char *path, size_t len, struct hs_http_address *address)
{
    struct sockaddr_un *local = &address->socket.local;
    if (!len || *path != '/' || len >= sizeof(local->sun_path)) return "must be unix: and an absolute path of at most 107 bytes";
    local->sun_family = AF_UNIX;
    memcpy(local->sun_path, path, len);
    address->size = sizeof(*local);
    address->file = true;
    return NULL;
}

static bool
parse_port(const char *text, size_t len, in_port_t *port)
{
    uint32_t number = 0;
    if (!len || len > 5) return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        number = number * 10 + (uint32_t)(text[i] - '0');
    }
    *port = htons((uint16_t)number);
    return number <= 65535;
}

static bool
parse_ipv6(const char *host, in_port_t port, struct hs_http_address *address)
{
    struct sockaddr_in6 *ipv6 = &address->socket.ipv6;
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = port;
    address->size = sizeof(*ipv6);
    if (inet_pton(AF_INET6, host, &ipv6->sin6_addr) != 1) return false;
    address->loopback = IN6_IS_ADDR_LOOPBACK(&ipv6->sin6_addr);
    return true;
}

static bool
parse_ipv4(const char *host, in_port_t port, struct hs_http_address *address)
{
    struct sockaddr_in *ipv4 = &address->socket.ipv4;
    const char *literal = strcmp(host, "localhost") == 0 ? "127.0.0.1" : *host ? host
                                                                               : "0.0.0.0";
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = port;
    address->size = sizeof(*ipv4);
    if (inet_pton(AF_INET, literal, &ipv4->sin_addr) != 1) return false;
    address->loopback = ntohl(ipv4->sin_addr.s_addr) >> 24 == 127;
    return true;
}

const char *
rb_hs_http_address_parse(const char *text, size_t len, struct hs_http_address *address)
{
    char host[HS_HTTP_TEXT_MAX];
    in_port_t port;
    memset(address, 0, sizeof(*address));
    if (len >= sizeof(host)) return "is too long; use an IP address, localhost, or a shorter path";
    if (len >= 5 && memcmp(text, "unix:", 5) == 0) return parse_file(text + 5, len - 5, address);
    size_t colon = len;
    while (colon > 0 && text[colon - 1] != ':') colon--;
    if (!colon || !parse_port(text + colon, len - colon, &port)) return no_address;
    address->any_port = port == 0;
    size_t length = colon - 1;
    bool brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';
    if (brackets) length -= 2;
    memcpy(host, text + brackets, length);
    host[length] = '\0';
    if (strlen(host) != length) return no_address;
    if (brackets ? parse_ipv6(host, port, address) : parse_ipv4(host, port, address)) return NULL;
    return no_address;
}
