/*
 * Writing: a file is whole and private, or it is not there; nothing hangs,
 * nothing is killed by a signal, no planted link is followed.
 */
#define _GNU_SOURCE     /* unshare */
#include "sample.h"
#include "heap_sampler/profile/formats.h"
#include "heap_sampler/profile/writer.h"
#include "tap.h"
#include "heap_sampler/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BIG = 1 << 20,
       SKIPPED = 77 };

static char folder[2048], big[BIG];

/* A path in the test's folder: good until the eighth call after. */
static const char *
in_folder(const char *name)
{
    static char paths[8][4096];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static int
entries(void)
{
    DIR *dir = opendir(folder);
    int count = 0;

    if (!dir) return -1;
    while (readdir(dir)) count++;
    closedir(dir);
    return count - 2;
}

static long long
mode_of(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 ? (long long)(status.st_mode & (S_IFMT | 07777)) : -1;
}

static bool
holds(const char *path, const char *text)
{
    char got[64] = "";
    FILE *file = fopen(path, "r");
    if (!file) return false;
    size_t len = fread(got, 1, sizeof(got) - 1, file);
    fclose(file);
    return len == strlen(text) && memcmp(got, text, len) == 0;
}

static void
put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0) abort();
    fclose(file);
}

/* What `run` returns in a child process, or 1000 + the signal that killed it. */
static int
in_child(int (*run)(void))
{
    int status;

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);      /* a hang is a failure, not a wait */
        _exit(run());
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void
test_regular(void)
{
    const char *path = in_folder("new.pb");
    mode_t umask_before = umask(0);

    is_number(rb_hs_write_file(path, "one", 3), 0, "writes a new file");
    is_number(mode_of(path), S_IFREG | 0600, "of mode 0600 under a umask of 0");
    umask(0777);
    is_number(rb_hs_write_file(path, "three", 5), 0, "writes over an old file");
    is_number(mode_of(path), S_IFREG | 0600, "of mode 0600 under a umask of 0777");
    umask(umask_before);
    ok(holds(path, "three"), "with the new content");
    chmod(path, 0644);
    rb_hs_write_file(path, "", 0);
    ok(holds(path, "") && mode_of(path) == (S_IFREG | 0600), "an old file's wider mode does not stay");
    is_number(entries(), 1, "and no temporary file");

    char long_name[256];
    memset(long_name, 'n', 255);
    memcpy(long_name + 252, ".pb", 4);
    is_number(rb_hs_write_file(in_folder(long_name), "x", 1), 0, "writes a file with the longest name there is");
    unlink(in_folder(long_name));
    unlink(path);

    char before[2048];
    if (!getcwd(before, sizeof(before)) || chdir(folder)) abort();
    is_number(rb_hs_write_file("here.pb", "x", 1), 0, "writes to the current folder");
    if (chdir(before)) abort();
    unlink(in_folder("here.pb"));
}

/* By writing, and by looking beforehand. */
static void
is_refused(const char *path, int expected, const char *name)
{
    is_number(rb_hs_write_file(path, "x", 1), expected, name);
    is_number(rb_hs_check_writable(path), expected, "and that is seen before anything is written");
}

static void
test_no_place(void)
{
    put(in_folder("file"), "");
    is_number(rb_hs_check_writable(in_folder("x.pb")), 0, "a folder that takes files is seen to");
    is_number(rb_hs_check_writable(in_folder("file")), 0, "so is a file that would be replaced");
    is_number(rb_hs_check_writable("x.pb"), 0, "and the current folder");
    rb_hs_memory_fail_after(0);
    is_number(rb_hs_check_writable(in_folder("x.pb")), 0, "looking takes no memory");
    rb_hs_memory_fail_after(-1);
    is_number(entries(), 1, "looking leaves nothing behind");
    is_refused(in_folder("gone/x.pb"), ENOENT, "ENOENT where the folder is gone");
    is_refused(in_folder("file/x.pb"), ENOTDIR, "ENOTDIR where it is a file");
    is_refused("", ENOENT, "ENOENT for an empty path");
    is_refused(folder, EISDIR, "EISDIR where the path is a folder");
    is_refused(in_folder("new/"), EISDIR, "EISDIR where it ends in a slash");
    is_number(rb_hs_write_file("/proc/x.pb", "x", 1) != 0, 1, "an error in a folder that takes no files");

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char before[2048];
    strcpy(address.sun_path, "socket");         /* relative: sun_path is short */
    if (!getcwd(before, sizeof(before)) || chdir(folder)) abort();
    int bound = bind(fd, (struct sockaddr *)&address, sizeof(address));
    if (chdir(before)) abort();
    ok(bound == 0 && rb_hs_write_file(in_folder("socket"), "x", 1) == EINVAL && entries() == 2,
       "EINVAL where it is a socket, which stays");
    close(fd);
    unlink(in_folder("socket"));
    unlink(in_folder("file"));
}

static int
write_unprivileged(void)
{
    if (geteuid() == 0 && (setegid(65534) || seteuid(65534))) return SKIPPED;
    if (!opendir(folder)) return SKIPPED;
    int seen = rb_hs_check_writable(in_folder("x.pb")), error = rb_hs_write_file(in_folder("x.pb"), "x", 1);
    return seen == error ? error : 100;
}

static void
test_read_only(void)
{
    const char *name = "EACCES in a folder that is read-only";

    chmod(folder, 0555);
    int status = in_child(write_unprivileged);
    chmod(folder, 0755);
    if (status == SKIPPED) {
        skip("runs as root, and an unprivileged user cannot reach the build folder", "%s", name);
    }
    else {
        is_number(status, EACCES, name);
    }
    is_number(entries(), 0, "and nothing in it");
}

static int
write_over_limit(void)
{
    const struct rlimit limit = {4096, 4096};
    signal(SIGXFSZ, SIG_DFL);
    if (setrlimit(RLIMIT_FSIZE, &limit)) return SKIPPED;
    return rb_hs_write_file(in_folder("old.pb"), big, sizeof(big));
}

static int
write_to_full_disk(void)
{
    /* a mount that only this process sees and that goes with it */
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) return SKIPPED;
    if (mount("tmpfs", folder, "tmpfs", 0, "size=64k")) return SKIPPED;
    put(in_folder("old.pb"), "old");
    int error = rb_hs_write_file(in_folder("old.pb"), big, sizeof(big));
    return entries() == 1 && holds(in_folder("old.pb"), "old") ? error : 100;
}

static int
write_to_dev_full(void)
{
    return rb_hs_write_file("/dev/full", "x", 1);
}

static void
test_full(void)
{
    put(in_folder("old.pb"), "old");
    is_number(in_child(write_over_limit), EFBIG, "EFBIG, not SIGXFSZ, at the limit of file sizes");
    ok(holds(in_folder("old.pb"), "old") && entries() == 1, "the old file stays, the part of the new one goes");
    unlink(in_folder("old.pb"));

    int status = in_child(write_to_full_disk);
    const char *name = "ENOSPC on a full disk: the old file stays, the part of the new one goes";
    if (status == SKIPPED) {
        skip("may not mount a small tmpfs", "%s", name);
    }
    else {
        is_number(status, ENOSPC, name);
    }
    is_number(in_child(write_to_dev_full), ENOSPC, "ENOSPC from a full device");
    is_number(rb_hs_write_file("/dev/null", "x", 1), 0, "writes to a character device");
    is_number(mode_of("/dev/null") & S_IFMT, S_IFCHR, "which stays one");
}

static void
test_links(void)
{
    put(in_folder("victim"), "mine");
    if (symlink(in_folder("victim"), in_folder("planted.pb"))) abort();
    is_number(rb_hs_write_file(in_folder("planted.pb"), "new", 3), 0, "writes where a symlink was planted");
    ok(holds(in_folder("victim"), "mine"), "but not through it");
    is_number(mode_of(in_folder("planted.pb")), S_IFREG | 0600, "it is replaced");
    unlink(in_folder("planted.pb"));

    if (symlink(in_folder("nowhere"), in_folder("planted.pb"))) abort();
    rb_hs_write_file(in_folder("planted.pb"), "new", 3);
    ok(mode_of(in_folder("nowhere")) < 0 && holds(in_folder("planted.pb"), "new"), "so is a dangling one");
    unlink(in_folder("planted.pb"));

    if (symlink("/dev/full", in_folder("planted.pb"))) abort();
    is_number(rb_hs_write_file(in_folder("planted.pb"), "new", 3), 0, "so is one to a device");
    unlink(in_folder("planted.pb"));

    if (link(in_folder("victim"), in_folder("hard.pb"))) abort();
    rb_hs_write_file(in_folder("hard.pb"), "new", 3);
    ok(holds(in_folder("victim"), "mine"), "a hard link's other name keeps its content");
    unlink(in_folder("hard.pb"));
    unlink(in_folder("victim"));
    is_number(entries(), 0, "and no temporary file");
}

static int
write_without_reader(void)
{
    return rb_hs_write_file(in_folder("fifo"), "x", 1);
}

static void
on_signal(int number)
{
    (void)number;
}

static pthread_t writer;

/* Reads the FIFO slowly, so that its 64 KiB fill up and the writer waits, and
 * interrupts the writer each time. */
static void *
read_fifo(void *arg)
{
    size_t *total = arg;
    char chunk[8192];
    int fd = open(in_folder("fifo"), O_RDONLY);
    ssize_t len;

    while ((len = read(fd, chunk, sizeof(chunk))) > 0) {
        if (*total + (size_t)len > sizeof(big) || memcmp(chunk, big + *total, (size_t)len)) break;
        *total += (size_t)len;
        usleep(500);
        pthread_kill(writer, SIGUSR1);
    }
    close(fd);
    return NULL;
}

static int
write_to_slow_reader(void)
{
    struct sigaction action = {.sa_handler = on_signal};        /* no SA_RESTART: EINTR */
    size_t total = 0;
    pthread_t thread;
    int error = ENXIO;

    sigaction(SIGUSR1, &action, NULL);
    writer = pthread_self();
    if (pthread_create(&thread, NULL, read_fifo, &total)) return SKIPPED;
    /* until the reader has it open */
    for (int i = 0; i < 1000 && error == ENXIO; i++) {
        error = rb_hs_write_file(in_folder("fifo"), big, sizeof(big));
        usleep(1000);
    }
    pthread_join(thread, NULL);
    if (error) return error;
    return total == sizeof(big) ? 0 : 100;
}

/* The FIFO's reader, another process, goes while the writer waits. */
static int
write_while_reader_leaves(void)
{
    int fd = open(in_folder("fifo"), O_RDONLY | O_NONBLOCK);
    pid_t reader = fork();
    if (reader == 0) {
        usleep(100000);
        _exit(0);
    }
    close(fd);
    int error = rb_hs_write_file(in_folder("fifo"), big, sizeof(big));
    waitpid(reader, NULL, 0);
    return error;
}

static int
write_to_leaving_reader(void)
{
    sigset_t mask, pending;

    signal(SIGPIPE, SIG_DFL);
    int error = write_while_reader_leaves();
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pending);
    return sigismember(&mask, SIGPIPE) || sigismember(&pending, SIGPIPE) ? 100 : error;
}

static int
keep_pending_signal(void)
{
    sigset_t pipe_only, pending;

    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
    raise(SIGPIPE);
    int error = write_while_reader_leaves();
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) ? error : 100;
}

static void
test_fifo(void)
{
    if (mkfifo(in_folder("fifo"), 0600)) abort();
    is_number(in_child(write_without_reader), ENXIO, "ENXIO, not a hang, from a FIFO that no one reads");
    is_number(in_child(write_to_slow_reader), 0, "a slow reader gets all of it, under a storm of signals");
    is_number(in_child(write_to_leaving_reader), EPIPE, "EPIPE, not SIGPIPE, where the reader leaves");
    is_number(in_child(keep_pending_signal), EPIPE, "and a SIGPIPE that waited before is left waiting");
    is_number(mode_of(in_folder("fifo")) & S_IFMT, S_IFIFO, "the FIFO stays one");
    is_number(entries(), 1, "and no temporary file");
    unlink(in_folder("fifo"));
}

static char raced_path[4096];

static void *
write_often(void *arg)
{
    char text[8];

    snprintf(text, sizeof(text), "%06d", (int)(intptr_t)arg);
    for (int i = 0; i < 20; i++) {
        int error = rb_hs_write_file(raced_path, text, 6);
        if (error) return (void *)(intptr_t)error;
    }
    return NULL;
}

static void
test_threads(void)
{
    pthread_t threads[8];
    bool passed = true;
    char got[16];

    snprintf(raced_path, sizeof(raced_path), "%s", in_folder("raced.pb"));
    for (intptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, write_often, (void *)(i + 1));
    for (int i = 0; i < 8; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        if (failed) note("error %d", (int)(intptr_t)failed);
        if (failed) passed = false;
    }
    FILE *file = fopen(raced_path, "r");
    size_t len = file ? fread(got, 1, sizeof(got), file) : 0;
    if (file) fclose(file);
    ok(passed && len == 6 && entries() == 1, "eight threads that write one path leave one whole file");
    unlink(raced_path);
}

/* What the bound refuses is missing as much as what malloc refuses. */
static void
test_bound(void)
{
    uint64_t before = rb_hs_memory_failures(HS_MEM_STACKS);
    size_t share = rb_hs_memory_share(HS_MEM_STACKS);
    void *block = rb_hs_malloc(HS_MEM_STACKS, share / 2);

    ok(block && rb_hs_memory_failures(HS_MEM_STACKS) == before, "half of a share is given");
    ok(!rb_hs_malloc(HS_MEM_STACKS, share / 2), "but not both halves, with what counts them");
    is_number((long long)(rb_hs_memory_failures(HS_MEM_STACKS) - before), 1, "which counts as a failure");
    ok(!rb_hs_realloc(HS_MEM_STACKS, block, share), "nor a block as large as the share");
    is_number((long long)(rb_hs_memory_failures(HS_MEM_STACKS) - before), 2, "nor is that forgotten");
    ok(!rb_hs_calloc(HS_MEM_STACKS, SIZE_MAX, 2), "nor more than there are addresses");
    is_number((long long)(rb_hs_memory_failures(HS_MEM_STACKS) - before), 3, "nor that");
    rb_hs_free(HS_MEM_STACKS, block);
}

static void
test_memory(void)
{
    put(in_folder("old.pb"), "old");
    rb_hs_memory_fail_after(0);
    int error = rb_hs_write_file(in_folder("old.pb"), "new", 3);
    rb_hs_memory_fail_after(1);
    int second = rb_hs_write_file(in_folder("old.pb"), "new", 3);
    rb_hs_memory_fail_after(-1);
    ok(error == ENOMEM && second == ENOMEM && holds(in_folder("old.pb"), "old") && entries() == 1,
       "ENOMEM without memory for a path");
    unlink(in_folder("old.pb"));
}

void
test_writer(const char *top)
{
    snprintf(folder, sizeof(folder), "%s/writer", top);
    if (mkdir(folder, 0755)) abort();
    for (size_t i = 0; i < sizeof(big); i++) big[i] = (char)(i * 31 >> 3);
    test_regular();
    test_no_place();
    test_read_only();
    test_full();
    test_links();
    test_fifo();
    test_threads();
    test_bound();
    test_memory();
    is_number(rmdir(folder), 0, "the tests left nothing else");
    is_number((long long)rb_hs_memory_total(), 0, "writing keeps no memory");
}

static int
save(const struct hs_profile *profile, const char *path, size_t *written)
{
    struct hs_buffer file = {0};
    enum hs_format format;
    int error = rb_hs_format_of(path, &format) ? rb_hs_encode(profile, format, &file) : EINVAL;
    if (!error) error = rb_hs_write_file(path, file.ptr, file.len);
    *written = file.len;
    rb_hs_buffer_free(&file);
    return error;
}

/* Leaves its files for test/fast/output/run. */
void
test_save(const char *top)
{
    static const char *const endings[] = {".pb.gz", ".pb"};
    char path[4096];
    struct hs_profile profile;
    struct stat status;

    for (size_t p = 0; p < SAMPLE_PROFILES; p++) {
        bool passed = true;
        sample_profiles[p].make(&profile);
        for (size_t e = 0; e < sizeof(endings) / sizeof(endings[0]); e++) {
            size_t written = 0;
            snprintf(path, sizeof(path), "%s/%s%s", top, sample_profiles[p].name, endings[e]);
            if (save(&profile, path, &written)) passed = false;
            if (stat(path, &status) || (size_t)status.st_size != written) passed = false;
        }
        rb_hs_profile_free(&profile);
        ok(passed, "saves the %s profile in every format", sample_profiles[p].name);
    }
}
