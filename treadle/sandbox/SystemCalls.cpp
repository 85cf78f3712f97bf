#include "treadle/sandbox/SystemCalls.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <span>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace treadle::sandbox {
namespace {

constexpr uint32_t x32Bit = 0x40000000;
/// The last system call that was considered for the list: set_mempolicy_home_node, of Linux 5.17.
constexpr uint32_t lastKnown = 450;

constexpr uint32_t allow = SECCOMP_RET_ALLOW, trap = SECCOMP_RET_TRAP;
constexpr uint32_t failWith(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }

constexpr uint32_t allowed[] = {
    // Access to open files, and metadata; Landlock decides which files may be opened.
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_preadv, SYS_close, SYS_lseek,
    SYS_fstat, SYS_stat, SYS_lstat, SYS_newfstatat, SYS_statx, SYS_access, SYS_faccessat,
    SYS_faccessat2, SYS_readlink, SYS_readlinkat, SYS_getdents64, SYS_getcwd, SYS_fadvise64,
    // Memory, including that for machine code.
    SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk,
    // Threads.
    SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_set_tid_address, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_exit, SYS_exit_group, SYS_gettid, SYS_membarrier, SYS_getcpu,
    // Signals of the process itself.
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    // Identity and time.
    SYS_getpid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrlimit,
    SYS_getrusage, SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_clock_gettime, SYS_clock_getres,
    SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_time, SYS_times, SYS_poll, SYS_ppoll};

constexpr uint32_t allowedToWriters[] = {SYS_pwrite64,  SYS_pwritev,   SYS_ftruncate, SYS_fsync,
                                         SYS_fdatasync, SYS_fallocate, SYS_mkdir,     SYS_mkdirat,
                                         SYS_rmdir,     SYS_unlink,    SYS_unlinkat,  SYS_rename,
                                         SYS_renameat,  SYS_renameat2};

struct Refused {
  uint32_t number;
  const char *name;
};
#define CALL(name) {SYS_##name, #name}
constexpr Refused refusedCalls[] = {
    // Other programs.
    CALL(execve), CALL(execveat),
    // Networks.
    CALL(connect), CALL(bind), CALL(listen), CALL(accept), CALL(accept4), CALL(sendto),
    CALL(sendmsg), CALL(sendmmsg), CALL(recvfrom), CALL(recvmsg), CALL(recvmmsg), CALL(socket),
    CALL(socketpair),
    // Other processes.
    CALL(ptrace), CALL(kill), CALL(tkill), CALL(tgkill), CALL(rt_sigqueueinfo),
    CALL(rt_tgsigqueueinfo), CALL(process_vm_readv), CALL(process_vm_writev), CALL(process_madvise),
    CALL(pidfd_open), CALL(pidfd_getfd), CALL(pidfd_send_signal), CALL(kcmp),
    // Administration, and interfaces through which the kernel acts asynchronously.
    CALL(bpf), CALL(perf_event_open), CALL(userfaultfd), CALL(io_uring_setup), CALL(io_uring_enter),
    CALL(io_uring_register), CALL(keyctl), CALL(add_key), CALL(request_key), CALL(mount),
    CALL(umount2), CALL(move_mount), CALL(open_tree), CALL(fsopen), CALL(fsmount), CALL(fsconfig),
    CALL(fspick), CALL(mount_setattr), CALL(pivot_root), CALL(chroot), CALL(unshare), CALL(setns),
    CALL(open_by_handle_at), CALL(name_to_handle_at), CALL(init_module), CALL(finit_module),
    CALL(delete_module), CALL(kexec_load), CALL(kexec_file_load), CALL(reboot), CALL(swapon),
    CALL(swapoff), CALL(iopl), CALL(ioperm), CALL(modify_ldt), CALL(acct), CALL(quotactl),
    CALL(syslog), CALL(settimeofday), CALL(clock_settime), CALL(adjtimex)};
#undef CALL

/// Builds a BPF program. Each rule starts with the system call's number in the accumulator, and
/// returns or preserves it.
class FilterProgram {
public:
  std::vector<sock_filter> code;

  void load(size_t offset) { statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
  void loadNumber() { load(offsetof(seccomp_data, nr)); }
  /// Loads the lower or upper half of an argument (little-endian).
  void loadArgument(int i, bool isUpper = false) {
    load(offsetof(seccomp_data, args) + 8 * static_cast<size_t>(i) + (isUpper ? 4 : 0));
  }
  void ret(uint32_t action) { statement(BPF_RET | BPF_K, action); }
  void retIf(uint16_t comparison, uint32_t operand, uint32_t action) {
    jump(comparison, operand, 0, 1);
    ret(action);
  }
  void retIfEqual(uint32_t operand, uint32_t action) { retIf(BPF_JEQ, operand, action); }
  void retUnlessEqual(uint32_t operand, uint32_t action) {
    jump(BPF_JEQ, operand, 1, 0);
    ret(action);
  }
  void mask(uint32_t bits) { statement(BPF_ALU | BPF_AND | BPF_K, bits); }

  /// Adds a rule for one call: the instructions that `write` emits, which must return.
  template <typename Write> void rule(uint32_t number, Write write) {
    size_t at = code.size();
    jump(BPF_JEQ, number, 0, 0);
    write();
    code[at].jf = static_cast<uint8_t>(code.size() - at - 1);
  }
  /// Adds a rule that allows the listed values of an argument.
  void rule(uint32_t number, int argument, std::initializer_list<uint32_t> values,
            uint32_t otherwise) {
    rule(number, [&] {
      loadArgument(argument);
      for (uint32_t value : values)
        retIfEqual(value, allow);
      ret(otherwise);
    });
  }
  /// Adds a rule that allows an argument whose bits in `mask` equal `bits`.
  void rule(uint32_t number, int argument, uint32_t bits, uint32_t mask, uint32_t otherwise) {
    rule(number, [&] {
      loadArgument(argument);
      this->mask(mask);
      retIfEqual(bits, allow);
      ret(otherwise);
    });
  }

private:
  void statement(int operation, uint32_t operand) {
    code.push_back({static_cast<uint16_t>(operation), 0, 0, operand});
  }
  void jump(uint16_t comparison, uint32_t operand, uint8_t ifTrue, uint8_t ifFalse) {
    code.push_back({static_cast<uint16_t>(BPF_JMP | comparison | BPF_K), ifTrue, ifFalse, operand});
  }
};

/// Needed since Landlock's first versions allow truncating read-only files.
void addRulesOfOpening(FilterProgram &program, int flags, bool mayWrite) {
  constexpr uint32_t writing =
      O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
  program.loadArgument(flags);
  program.mask(mayWrite ? O_ACCMODE | O_TRUNC : writing);
  if (mayWrite) {
    program.retIfEqual(O_RDONLY | O_TRUNC, failWith(EACCES));
    program.ret(allow);
  }
  program.retIfEqual(0, allow);
  program.ret(failWith(EACCES));
}

void addRulesOfArguments(FilterProgram &program, SystemCallGrants grants, int32_t process) {
  // Shared and stack-like mappings escape the memory limit.
  program.rule(SYS_mmap, 3, 0, MAP_SHARED | MAP_GROWSDOWN, failWith(EPERM));
  constexpr uint32_t ofThread = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
  constexpr uint32_t ofNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  program.rule(SYS_clone, 0, ofThread, ofThread | ofNamespaces, failWith(EPERM));
  // Its flags are in memory, which a filter can't read. The C library falls back to clone.
  program.rule(SYS_clone3, [&] { program.ret(failWith(ENOSYS)); });
  program.rule(SYS_tgkill, 0, {static_cast<uint32_t>(process)}, trap);
  program.rule(SYS_rt_sigaction, [&] { // the handler of SIGSYS can't be replaced
    program.loadArgument(0);
    program.retIfEqual(SIGSYS, failWith(EPERM));
    program.ret(allow);
  });
  for (auto [number, flags] : {std::pair<uint32_t, int>(SYS_openat, 2), {SYS_open, 1}})
    program.rule(number, [&] { addRulesOfOpening(program, flags, grants.writesFiles); });
  program.rule(SYS_ioctl, 1, {TCGETS}, failWith(ENOTTY));
  program.rule(SYS_fcntl, 1, {F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC}, failWith(EPERM));
  program.rule(SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA}, failWith(EPERM));
  program.rule(SYS_sched_setaffinity, 0, {0}, failWith(EPERM));
  program.rule(SYS_prlimit64, [&] { // reading own limits only
    for (auto [argument, isUpper] : {std::pair(0, false), {2, false}, {2, true}}) {
      program.loadArgument(argument, isUpper);
      program.retIf(BPF_JGT, 0, failWith(EPERM));
    }
    program.ret(allow);
  });
  // The C library tries to connect to the name service cache.
  program.rule(SYS_socket, [&] {
    program.loadArgument(0);
    program.retIfEqual(AF_UNIX, failWith(EACCES));
    program.ret(trap);
  });
}

std::atomic<uint32_t> *refusedNumber = nullptr;

void onRefusedCall(int, siginfo_t *info, void *) {
  if (refusedNumber)
    refusedNumber->store(static_cast<uint32_t>(info->si_syscall) + 1);
  _exit(refusedStatus);
}

Error failure(const char *what) {
  return failedPrecondition("the sandbox can't be set up: ", what, ": ", std::strerror(errno));
}

} // namespace

std::vector<sock_filter> systemCallFilter(SystemCallGrants grants, int32_t process) {
  FilterProgram program;
  program.load(offsetof(seccomp_data, arch));
  program.retUnlessEqual(AUDIT_ARCH_X86_64, SECCOMP_RET_KILL_PROCESS);
  program.loadNumber();
  program.retIf(BPF_JGE, x32Bit, SECCOMP_RET_KILL_PROCESS);
  for (uint32_t number : allowed)
    program.retIfEqual(number, allow);
  if (grants.writesFiles)
    for (uint32_t number : allowedToWriters)
      program.retIfEqual(number, allow);
  addRulesOfArguments(program, grants, process);
  for (const Refused &call : refusedCalls)
    program.retIfEqual(call.number, trap);
  program.retIf(BPF_JGT, lastKnown, failWith(ENOSYS));
  program.ret(failWith(EPERM));
  return program.code;
}

Expected<void> filterSystemCalls(SystemCallGrants grants, std::atomic<uint32_t> &refused) {
  refusedNumber = &refused;
  struct sigaction action = {};
  action.sa_sigaction = onRefusedCall;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGSYS, &action, nullptr))
    return Unexpected(failure("SIGSYS can't be handled"));
  std::vector<sock_filter> filter = systemCallFilter(grants, getpid());
  sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
    return Unexpected(failure("the kernel rejects the system call filter"));
  return {};
}

const char *refusedCallName(uint32_t number) {
  const auto *found = std::ranges::find(refusedCalls, number, &Refused::number);
  return found == std::end(refusedCalls) ? nullptr : found->name;
}

} // namespace treadle::sandbox
