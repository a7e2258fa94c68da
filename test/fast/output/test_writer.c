/*
 * Writing: a file is whole and private, or it is not there; nothing hangs,
 * nothing is killed by a signal, and nothing is written into what another user
 * planted.
 */
#define _GNU_SOURCE     /* unshare */
#include "sample.h"
#include "heap_sampler/profile/formats.h"
#include "tap.h"
#include "tests.h"
#include "heap_sampler/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

    is_number(rb_hs_write_file(path, "one", 3, NULL), 0, "writes a new file");
    is_number(mode_of(path), S_IFREG | 0600, "of mode 0600 under a umask of 0");
    umask(0777);
    is_number(rb_hs_write_file(path, "three", 5, NULL), 0, "writes over an old file");
    is_number(mode_of(path), S_IFREG | 0600, "of mode 0600 under a umask of 0777");
    umask(umask_before);
    ok(holds(path, "three"), "with the new content");
    chmod(path, 0644);
    rb_hs_write_file(path, "", 0, NULL);
    ok(holds(path, "") && mode_of(path) == (S_IFREG | 0600), "an old file's wider mode does not stay");
    is_number(entries(), 1, "and no temporary file");

    char long_name[256];
    memset(long_name, 'n', 255);
    memcpy(long_name + 252, ".pb", 4);
    is_number(rb_hs_write_file(in_folder(long_name), "x", 1, NULL), 0, "writes a file with the longest name there is");
    unlink(in_folder(long_name));
    unlink(path);

    char before[2048];
    if (!getcwd(before, sizeof(before)) || chdir(folder)) abort();
    is_number(rb_hs_write_file("here.pb", "x", 1, NULL), 0, "writes to the current folder");
    if (chdir(before)) abort();
    unlink(in_folder("here.pb"));
}

/* By writing, and by looking beforehand. */
static void
is_refused(const char *path, int expected, const char *name)
{
    is_number(rb_hs_write_file(path, "x", 1, NULL), expected, name);
    is_number(rb_hs_check_writable(path), expected, "and that is seen before anything is written");
}

static void
test_no_place(void)
{
    put(in_folder("file"), "");
    is_number(rb_hs_check_writable(in_folder("x.pb")), 0, "a folder that takes files is seen to");
    is_number(rb_hs_check_writable(in_folder("file")), 0, "so is a file that would be replaced");
    is_number(rb_hs_check_writable("x.pb"), 0, "and the current folder");
    fail_after(0);
    is_number(rb_hs_check_writable(in_folder("x.pb")), 0, "looking takes no memory");
    fail_after(-1);
    is_number(entries(), 1, "looking leaves nothing behind");
    is_refused(in_folder("gone/x.pb"), ENOENT, "ENOENT where the folder is gone");
    is_refused(in_folder("file/x.pb"), ENOTDIR, "ENOTDIR where it is a file");
    is_refused("", ENOENT, "ENOENT for an empty path");
    is_refused(folder, EISDIR, "EISDIR where the path is a folder");
    is_refused(in_folder("new/"), EISDIR, "EISDIR where it ends in a slash");
    is_number(rb_hs_write_file("/proc/x.pb", "x", 1, NULL) != 0, 1, "an error in a folder that takes no files");

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char before[2048];
    strcpy(address.sun_path, "socket");         /* relative: sun_path is short */
    if (!getcwd(before, sizeof(before)) || chdir(folder)) abort();
    int bound = bind(fd, (struct sockaddr *)&address, sizeof(address));
    if (chdir(before)) abort();
    ok(bound == 0 && rb_hs_write_file(in_folder("socket"), "x", 1, NULL) == EINVAL && entries() == 2,
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
    int seen = rb_hs_check_writable(in_folder("x.pb")), error = rb_hs_write_file(in_folder("x.pb"), "x", 1, NULL);
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
    return rb_hs_write_file(in_folder("old.pb"), big, sizeof(big), NULL);
}

static int
write_to_full_disk(void)
{
    /* a mount that only this process sees and that goes with it */
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) return SKIPPED;
    if (mount("tmpfs", folder, "tmpfs", 0, "size=64k")) return SKIPPED;
    put(in_folder("old.pb"), "old");
    int error = rb_hs_write_file(in_folder("old.pb"), big, sizeof(big), NULL);
    return entries() == 1 && holds(in_folder("old.pb"), "old") ? error : 100;
}

static int
write_to_dev_full(void)
{
    return rb_hs_write_file("/dev/full", "x", 1, NULL);
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
    is_number(rb_hs_write_file("/dev/null", "x", 1, NULL), 0, "writes to a character device");
    is_number(mode_of("/dev/null") & S_IFMT, S_IFCHR, "which stays one");
}

static void
test_links(void)
{
    put(in_folder("victim"), "mine");
    if (symlink(in_folder("victim"), in_folder("planted.pb"))) abort();
    is_number(rb_hs_write_file(in_folder("planted.pb"), "new", 3, NULL), 0, "writes where a symlink was planted");
    ok(holds(in_folder("victim"), "mine"), "but not through it");
    is_number(mode_of(in_folder("planted.pb")), S_IFREG | 0600, "it is replaced");
    unlink(in_folder("planted.pb"));

    if (symlink(in_folder("nowhere"), in_folder("planted.pb"))) abort();
    rb_hs_write_file(in_folder("planted.pb"), "new", 3, NULL);
    ok(mode_of(in_folder("nowhere")) < 0 && holds(in_folder("planted.pb"), "new"), "so is a dangling one");
    unlink(in_folder("planted.pb"));

    if (symlink("/dev/full", in_folder("planted.pb"))) abort();
    is_number(rb_hs_write_file(in_folder("planted.pb"), "new", 3, NULL), 0, "so is one to a device");
    unlink(in_folder("planted.pb"));

    if (link(in_folder("victim"), in_folder("hard.pb"))) abort();
    rb_hs_write_file(in_folder("hard.pb"), "new", 3, NULL);
    ok(holds(in_folder("victim"), "mine"), "a hard link's other name keeps its content");
    unlink(in_folder("hard.pb"));
    unlink(in_folder("victim"));
    is_number(entries(), 0, "and no temporary file");
}

static int
write_without_reader(void)
{
    return rb_hs_write_file(in_folder("fifo"), "x", 1, NULL);
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
        error = rb_hs_write_file(in_folder("fifo"), big, sizeof(big), NULL);
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
    int error = rb_hs_write_file(in_folder("fifo"), big, sizeof(big), NULL);
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
        int error = rb_hs_write_file(raced_path, text, 6, NULL);
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
test_no_memory(void)
{
    fail_after(0);
    int error = rb_hs_write_file(in_folder("new.pb"), "new", 3, NULL);
    fail_after(-1);
    ok(error == 0 && holds(in_folder("new.pb"), "new") && entries() == 1, "writing takes no memory");
    unlink(in_folder("new.pb"));
}

/* -- names that the sampler makes up -------------------------------------------------- */

static void
test_generated(void)
{
    struct hs_writing one = {.generated = true}, other = {.generated = true};
    const char *path = in_folder("made.pb");

    is_number(rb_hs_write_file(path, "one", 3, &one), 0, "a generated name that is free is taken");
    is_number(rb_hs_write_file(path, "other", 5, &other), EEXIST, "EEXIST where another process has it");
    ok(holds(path, "one") && entries() == 1, "its profile stays, and there is no temporary file");
    is_number(rb_hs_write_file(path, "two", 3, &one), 0, "the process that wrote it replaces it");
    ok(holds(path, "two"), "with the new content");
    rb_hs_remove_file(path, &other.id);
    ok(holds(path, "two"), "no file is removed that this process did not write");
    rb_hs_remove_file(path, &one.id);
    is_number(entries(), 0, "its own is");

    rb_hs_write_file(path, "one", 3, &one);
    unlink(path);
    put(path, "other");         /* often with the same inode */
    is_number(rb_hs_write_file(path, "two", 3, &one), EEXIST, "EEXIST where its own is gone and another one has the name");
    rb_hs_remove_file(path, &one.id);
    ok(holds(path, "other"), "which stays");
    unlink(path);

    struct hs_writing again = {.generated = true};
    if (symlink(in_folder("nowhere"), path)) abort();
    is_number(rb_hs_write_file(path, "x", 1, &again), EEXIST, "EEXIST where a symlink was planted");
    unlink(path);
    if (mkfifo(path, 0666)) abort();
    is_number(rb_hs_write_file(path, "x", 1, &again), EEXIST, "EEXIST where a FIFO was planted");
    is_number(mode_of(path) & S_IFMT, S_IFIFO, "which stays");
    unlink(path);
    if (mkdir(path, 0777)) abort();
    is_number(rb_hs_write_file(path, "x", 1, &again), EEXIST, "EEXIST where a folder was made");
    rmdir(path);
}

static char contested[4096];

static void *
take_contested(void *taken)
{
    struct hs_writing writing = {.generated = true};
    if (rb_hs_write_file(contested, "mine", 4, &writing) == 0) __atomic_add_fetch((int *)taken, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void
test_contest(void)
{
    int rounds = 50, taken = 0;
    pthread_t threads[4];

    snprintf(contested, sizeof(contested), "%s", in_folder("contested.pb"));
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, take_contested, &taken);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        unlink(contested);
    }
    is_number(taken, rounds, "of four that take a name at once one has it");
    is_number(entries(), 0, "and nothing is left of the others");
}

/* The process's next calls of these fail, as on an old kernel or another file system. */
static bool
deny(const int *calls, unsigned short count)
{
    struct sock_filter filter[16] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short len = 1;
    for (unsigned short i = 0; i < count; i++) {
        filter[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        filter[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP);
    }
    filter[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {len, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int
take_free_and_taken(void)
{
    struct hs_writing one = {.generated = true}, other = {.generated = true};
    int error = rb_hs_write_file(in_folder("made.pb"), "one", 3, &one);
    if (error) return error;
    if (!holds(in_folder("made.pb"), "one") || entries() != 1) return 100;
    if (rb_hs_write_file(in_folder("made.pb"), "two", 3, &one) != 0 || !holds(in_folder("made.pb"), "two")) return 101;
    /* as if another process took it between the look and the rename */
    unlink(in_folder("made.pb"));
    snprintf(contested, sizeof(contested), "%s", in_folder("made.pb"));
    int taken = 0;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, take_contested, &taken);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    if (taken != 1 || entries() != 1) return 102;
    return rb_hs_write_file(in_folder("made.pb"), "two", 3, &other) == EEXIST && holds(in_folder("made.pb"), "mine") ? 0 : 103;
}

static int
without_renameat2(void)
{
    const int calls[] = {SYS_renameat2};
    return deny(calls, 1) ? take_free_and_taken() : SKIPPED;
}

static int
without_links(void)
{
#ifdef SYS_link
    const int calls[] = {SYS_renameat2, SYS_linkat, SYS_link};
#else
    const int calls[] = {SYS_renameat2, SYS_linkat};
#endif
    return deny(calls, sizeof(calls) / sizeof(*calls)) ? take_free_and_taken() : SKIPPED;
}

static void
test_poor_file_systems(void)
{
    int (*const tries[])(void) = {without_renameat2, without_links};
    const char *const names[] = {"without RENAME_NOREPLACE a link takes a free name, and no other", "without links, too, a new file does"};
    for (int i = 0; i < 2; i++) {
        int status = in_child(tries[i]);
        if (status == SKIPPED) skip("no seccomp here", "%s", names[i]);
        else is_number(status, 0, names[i]);
        unlink(in_folder("made.pb"));
        is_number(entries(), 0, "and nothing else is left");
    }
}

/* -- other users ----------------------------------------------------------------------- */

static void
is_refused_of_others(const char *what)
{
    char before[64] = "";
    FILE *file = S_ISREG(mode_of(in_folder("x.pb"))) ? fopen(in_folder("x.pb"), "r") : NULL;
    if (file && !fgets(before, sizeof(before), file)) abort();
    if (file) fclose(file);
    long long mode = mode_of(in_folder("x.pb"));
    is_number(rb_hs_write_file(in_folder("x.pb"), "x", 1, NULL), EEXIST, what);
    ok(mode_of(in_folder("x.pb")) == mode && (!*before || holds(in_folder("x.pb"), before)) && entries() == 1, "which stays as it was");
    unlink(in_folder("x.pb"));
}

static void
test_other_users(void)
{
    if (geteuid() != 0) {
        skip("not root, which can give files away", "what belongs to another user stays");
        return;
    }
    put(in_folder("x.pb"), "theirs");
    if (lchown(in_folder("x.pb"), 65534, 65534)) abort();
    is_refused_of_others("EEXIST where another user has a file");
    if (symlink("/dev/null", in_folder("x.pb")) || lchown(in_folder("x.pb"), 65534, 65534)) abort();
    is_refused_of_others("EEXIST where another user has a symlink");
    if (mkfifo(in_folder("x.pb"), 0666) || chmod(in_folder("x.pb"), 0666) || lchown(in_folder("x.pb"), 65534, 65534)) abort();
    int reader = open(in_folder("x.pb"), O_RDWR | O_NONBLOCK);
    char got;
    is_number(rb_hs_check_writable(in_folder("x.pb")), EEXIST, "another user's FIFO is seen beforehand");
    is_refused_of_others("EEXIST where another user has a FIFO");
    is_number(read(reader, &got, 1), -1, "and reads nothing from it");
    close(reader);
}

/* -- folders ------------------------------------------------------------------------------ */

/* By a name of the sampler's and by the user's; the program's own GC::SampleProfile#save may write there. */
static void
is_folder(mode_t mode, uid_t owner, int expected, const char *name)
{
    struct hs_writing made = {.generated = true}, given = {.generated = false};
    if (chmod(in_folder("heaps"), mode) || chown(in_folder("heaps"), owner, (gid_t)-1)) abort();
    is_number(rb_hs_write_file(in_folder("heaps/x.pb"), "x", 1, &made), expected, name);
    unlink(in_folder("heaps/x.pb"));
    is_number(rb_hs_write_file(in_folder("heaps/x.pb"), "x", 1, &given), expected, "by the name of output=, too");
    unlink(in_folder("heaps/x.pb"));
    is_number(rb_hs_check_writable(in_folder("heaps/x.pb")), expected, "and that is seen before anything is written");
    is_number(rb_hs_write_file(in_folder("heaps/x.pb"), "x", 1, NULL), 0, "who names a file writes it");
    unlink(in_folder("heaps/x.pb"));
}

static void
test_folders_of_others(void)
{
    if (mkdir(in_folder("heaps"), 0700)) abort();
    is_folder(0700, geteuid(), 0, "a folder of its own takes profiles");
    is_folder(0775, geteuid(), 0, "so does one that its group may write to");
    is_folder(01777, geteuid(), 0, "and a sticky one, such as /tmp");
    is_folder(0777, geteuid(), EPERM, "EPERM where others may put other files in place of them");
    if (geteuid() == 0) {
        is_folder(0700, 65534, EPERM, "EPERM where the folder is another user's");
        is_folder(01777, 65534, EPERM, "if it is sticky, too");
        is_folder(0700, geteuid(), 0, "its own again");
        if (symlink("heaps", in_folder("link"))) abort();
        is_number(rb_hs_check_writable(in_folder("link/x.pb")), 0, "a link of its own to a folder leads there");
        if (lchown(in_folder("link"), 65534, 65534)) abort();
        is_number(rb_hs_check_writable(in_folder("link/x.pb")), EPERM, "EPERM where another user planted the link");
        unlink(in_folder("link"));
    }
    rmdir(in_folder("heaps"));
}

static void
test_make_folder(void)
{
    mode_t umask_before = umask(0);
    is_number(rb_hs_make_folder_of(in_folder("a/b/c/x.pb")), 0, "makes the folder of a file, and those above it");
    umask(umask_before);
    is_number(mode_of(in_folder("a")), S_IFDIR | 0700, "of mode 0700");
    is_number(mode_of(in_folder("a/b/c")), S_IFDIR | 0700, "each of them");
    is_number(rb_hs_make_folder_of(in_folder("a/b/c/x.pb")), 0, "is content with one that is there");
    is_number(rb_hs_make_folder_of("x.pb"), 0, "and with the current folder");
    put(in_folder("a/file"), "");
    is_number(rb_hs_make_folder_of(in_folder("a/file/d/x.pb")), ENOTDIR, "ENOTDIR below a file");
    is_number(rb_hs_make_folder_of("/proc/none/x.pb"), ENOENT, "says why it cannot make one");
    unlink(in_folder("a/file"));
    rmdir(in_folder("a/b/c"));
    rmdir(in_folder("a/b"));
    rmdir(in_folder("a"));
}

/* -- a writer that is given up --------------------------------------------------------------- */

static volatile bool cancelled;

static void *
cancel_soon(void *unused)
{
    (void)unused;
    usleep(100000);
    cancelled = true;
    return NULL;
}

static int
write_until_cancelled(void)
{
    struct hs_writing writing = {.cancelled = &cancelled};
    pthread_t thread;
    int reader = open(in_folder("fifo"), O_RDWR | O_NONBLOCK);
    pthread_create(&thread, NULL, cancel_soon, NULL);
    int error = rb_hs_write_file(in_folder("fifo"), big, sizeof(big), &writing);
    pthread_join(thread, NULL);
    close(reader);
    return error;
}

static int
write_to_stalled_reader(void)
{
    open(in_folder("fifo"), O_RDWR | O_NONBLOCK);
    return rb_hs_write_file(in_folder("fifo"), big, sizeof(big), NULL);
}

static void
test_given_up(void)
{
    if (mkfifo(in_folder("fifo"), 0600)) abort();
    is_number(in_child(write_until_cancelled), ECANCELED, "ECANCELED, at once, where nobody wants it any more");
    is_number(in_child(write_to_stalled_reader), ETIMEDOUT, "ETIMEDOUT where the reader of a FIFO has stopped");
    unlink(in_folder("fifo"));

    struct hs_writing writing = {.cancelled = &cancelled};
    cancelled = true;
    is_number(rb_hs_write_file(in_folder("x.pb"), "x", 1, &writing), ECANCELED, "ECANCELED for a file, too");
    is_number(entries(), 0, "and its temporary file is gone");
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
    test_generated();
    test_contest();
    test_poor_file_systems();
    test_other_users();
    test_make_folder();
    test_folders_of_others();
    test_given_up();
    test_bound();
    test_no_memory();
    is_number(rmdir(folder), 0, "the tests left nothing else");
    is_number((long long)rb_hs_memory_total(), 0, "writing keeps no memory");
}

static int
save(const struct hs_profile *profile, const char *path, size_t *written)
{
    struct hs_buffer file = {0};
    enum hs_format format;
    int error = rb_hs_format_of(path, &format) ? rb_hs_encode(profile, format, HS_INUSE_FIRST, &file) : EINVAL;
    if (!error) error = rb_hs_write_file(path, file.ptr, file.len, NULL);
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
