/* Faults at a chosen call: preloaded into one process, it counts the library calls that reach the disk, start a
 * program or wait, and at the chosen one kills the process or lets the call fail.
 *
 * FAULT_AT=N      the call, counted from 1; unset: only count
 * FAULT_KIND=kill | half (a write stops half way, then death) | after (death after the call) | errno=NUMBER
 *            | stop (stops for good, so that the power can be cut)
 * FAULT_STAYS=1   with errno: every later call of the same kind fails as well (a full disk stays full)
 * FAULT_LOG=FILE  the names of the calls, one a line
 *
 * Children don't inherit it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static long count, at;
static int kind_errno, half, after, stays, log_fd = -1;
static const char *kind = "kill";
static char first[32];  /* the call that failed first */

__attribute__((constructor)) static void start(void) {
    char *text = getenv("FAULT_AT");
    at = text ? atol(text) : 0;
    if ((text = getenv("FAULT_KIND"))) kind = strdup(text);
    half = !strcmp(kind, "half");
    after = !strcmp(kind, "after");
    if (!strncmp(kind, "errno=", 6)) kind_errno = atoi(kind + 6);
    stays = getenv("FAULT_STAYS") != NULL;
    if ((text = getenv("FAULT_LOG"))) log_fd = open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    unsetenv("LD_PRELOAD");
    unsetenv("FAULT_AT");
}

static void die(void) {
    kill(getpid(), strcmp(kind, "stop") ? SIGKILL : SIGSTOP);
    for (;;) pause();
}

/* 1: the call shall fail with errno set. */
static int enter(const char *name) {
    count++;
    if (log_fd >= 0) dprintf(log_fd, "%s\n", name);
    if (!at) return 0;
    if (kind_errno && stays && count > at && !strcmp(first, name)) {
        errno = kind_errno;
        return 1;
    }
    if (count != at) return 0;
    snprintf(first, sizeof first, "%s", name);
    if (kind_errno) {
        errno = kind_errno;
        return 1;
    }
    if (!half && !after) die();
    return 0;
}

static void leave(void) {
    if (at && count == at && (after || half)) die();
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define WRAP(type, name, parameters, arguments)     \
    type name parameters {                          \
        REAL(name);                                 \
        if (enter(#name)) return (type)-1;          \
        type result = real arguments;               \
        int kept = errno;                           \
        leave();                                    \
        errno = kept;                               \
        return result;                              \
    }

/* The ledger's own calls bear its name. */
static const char *of_ledger(const char *name, const char *with, int fd) {
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path);
    return size > 7 && !strncmp(path + size - 7, "/ledger", 7) ? with : name;
}

int fsync(int fd) {
    REAL(fsync);
    if (enter(of_ledger("fsync", "fsync:ledger", fd))) return -1;
    int result = real(fd), kept = errno;
    leave();
    errno = kept;
    return result;
}

WRAP(int, rename, (const char *a, const char *b), (a, b))
WRAP(int, renameat, (int x, const char *a, int y, const char *b), (x, a, y, b))
WRAP(int, unlink, (const char *a), (a))
WRAP(int, unlinkat, (int x, const char *a, int f), (x, a, f))
WRAP(int, rmdir, (const char *a), (a))
WRAP(int, mkdir, (const char *a, mode_t m), (a, m))
WRAP(int, mkdirat, (int x, const char *a, mode_t m), (x, a, m))
WRAP(int, link, (const char *a, const char *b), (a, b))
WRAP(int, linkat, (int x, const char *a, int y, const char *b, int f), (x, a, y, b, f))
WRAP(int, symlink, (const char *a, const char *b), (a, b))
WRAP(int, symlinkat, (const char *a, int x, const char *b), (a, x, b))
WRAP(int, fchmod, (int fd, mode_t m), (fd, m))
WRAP(int, chmod, (const char *a, mode_t m), (a, m))
WRAP(int, fchown, (int fd, uid_t u, gid_t g), (fd, u, g))
WRAP(int, fsetxattr, (int fd, const char *n, const void *v, size_t s, int f), (fd, n, v, s, f))
WRAP(int, futimens, (int fd, const struct timespec t[2]), (fd, t))
WRAP(int, ftruncate64, (int fd, off64_t n), (fd, n))
WRAP(int, truncate64, (const char *a, off64_t n), (a, n))
WRAP(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o))
WRAP(int, seteuid, (uid_t u), (u))
WRAP(int, pipe2, (int p[2], int f), (p, f))
WRAP(pid_t, waitpid, (pid_t p, int *s, int o), (p, s, o))

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    if (fd < 3 || fd == log_fd) return real(fd, data, size);
    if (enter(of_ledger("write", "write:ledger", fd))) return -1;
    ssize_t result = real(fd, data, half && at && count == at ? size / 2 : size);
    int kept = errno;
    leave();
    errno = kept;
    return result;
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *f, const posix_spawnattr_t *a,
                char *const v[], char *const e[]) {
    REAL(posix_spawn);
    if (enter("posix_spawn")) return errno;
    int result = real(pid, path, f, a, v, e);
    leave();
    return result;
}

static int opened(const char *name, int flags, int result) {
    (void)name;
    (void)flags;
    int kept = errno;
    leave();
    errno = kept;
    return result;
}

/* Only opens that create or write are counted: reading changes nothing. */
#define OPEN(name, parameters, real_arguments)                                                   \
    int name parameters {                                                                        \
        REAL(name);                                                                              \
        va_list list;                                                                            \
        va_start(list, flags);                                                                   \
        mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;                                \
        va_end(list);                                                                            \
        if (!(flags & (O_CREAT | O_WRONLY | O_RDWR))) return real real_arguments;                \
        if (enter(#name)) return -1;                                                             \
        return opened(#name, flags, real real_arguments);                                        \
    }

OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
