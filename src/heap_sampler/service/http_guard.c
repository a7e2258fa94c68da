/* See service/http_guard.h. */
#include "heap_sampler/service/http_guard.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
around_p(char c)
{
    return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

/* Without what stands around it. NULL, or what is wrong. */
static const char *
trim(char *token, size_t len)
{
    size_t from = 0;
    while (len && around_p(token[len - 1])) len--;
    while (from < len && around_p(token[from])) from++;
    memmove(token, token + from, len - from);
    token[len - from] = '\0';
    if (!*token) return "is empty; write a token into it";
    for (const char *c = token; *c; c++) {
        if (*c < '!' || *c > '~') return "has characters that a token cannot have; write one word of printable ASCII";
    }
    return strlen(token) == len - from ? NULL : "contains a NUL byte; write one word of printable ASCII";
}

static const char *
read_open_file(int fd, char token[HS_TOKEN_MAX])
{
    struct stat file;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return "is not a regular file";
    if (file.st_uid != geteuid() && file.st_uid != 0) return "belongs to another user; use a file of the user who runs Ruby";
    if (file.st_mode & 077) return "can be accessed by other users; run chmod 600 on it";
    ssize_t len = read(fd, token, HS_TOKEN_MAX);
    if (len < 0) return "cannot be read";
    if (len == HS_TOKEN_MAX) return "is longer than 1,023 bytes";
    return trim(token, (size_t)len);
}

const char *
rb_hs_token_read(const char *path, char token[HS_TOKEN_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return "cannot be opened; check its path and permissions";
    const char *wrong = read_open_file(fd, token);
    close(fd);
    return wrong;
}

bool
rb_hs_token_same_p(const char *token, const char *given)
{
    size_t len = strlen(token), given_len = strlen(given);
    volatile unsigned char differs = len != given_len;
    for (size_t i = 0; i < given_len; i++) differs = (unsigned char)(differs | (token[len ? i % len : 0] ^ given[i]));
    return !differs;
}

static bool
port_p(const char *text)
{
    size_t digits = strspn(text + (*text == ':'), "0123456789");
    return !*text || (*text == ':' && digits == strlen(text + 1));
}

bool
rb_hs_host_safe_p(const char *host)
{
    char literal[64];
    struct in6_addr address;
    bool brackets = *host == '[';
    size_t len = brackets ? strcspn(host, "]") : strcspn(host, ":");
    const char *behind = host + len + (brackets && host[len] == ']');
    if (len >= sizeof(literal) || (brackets && host[len] != ']') || !port_p(behind)) return false;
    memcpy(literal, host + brackets, len - brackets);
    literal[len - brackets] = '\0';
    if (brackets) return inet_pton(AF_INET6, literal, &address) == 1;
    return strcasecmp(literal, "localhost") == 0 || inet_pton(AF_INET, literal, &address) == 1;
}

static bool
token_allows_p(const struct hs_http_request *request, const char *token_file)
{
    char token[HS_TOKEN_MAX];
    const char *given = request->authorization;
    if (rb_hs_token_read(token_file, token)) return false;
    if (strncasecmp(given, "bearer ", 7) != 0) return false;
    for (given += 7; *given == ' ';) given++;
    return rb_hs_token_same_p(token, given);
}

int
rb_hs_http_guard(const struct hs_http_request *request, const struct hs_http_address *address, const char *token_file, const char **wrong)
{
    if (address->loopback && *request->host && !rb_hs_host_safe_p(request->host)) {
        *wrong = "this Host is refused, as it may be an attack (DNS rebinding); use localhost or an IP address";
        return 403;
    }
    if (strcasecmp(request->fetch_site, "cross-site") == 0) {
        *wrong = "requests from pages of other sites are refused; open the address yourself";
        return 403;
    }
    if (*token_file && !token_allows_p(request, token_file)) {
        *wrong = "the token is missing or wrong; send the text of the http-token= file as Authorization: Bearer TEXT";
        return 401;
    }
    return 0;
}
