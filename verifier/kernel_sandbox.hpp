// What a kernel under audit may reach of the system, where that was asked for.
#pragma once

#include <string>

namespace gqa::kernel_host {

/// From here on this process, and whatever it starts, opens no file but `library`, those of the
/// system's library folders and its own in /proc, writes none, makes no socket, looks into no other
/// process and signals none but its own. What is open already stays open. Nothing undoes it.
///
/// Result: empty, or why this system cannot do it; nothing must be loaded then.
/// Source: Linux, Documentation/userspace-api/landlock.rst and seccomp_filter.rst (Landlock ABI 1,
/// Linux 5.13; a signal to others is refused by Landlock from ABI 6 on, before by seccomp).
std::string enter_sandbox(const char* library);

}  // namespace gqa::kernel_host
