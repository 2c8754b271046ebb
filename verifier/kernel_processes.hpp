// The processes that a kernel starts, and the one that ends them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace gqa::kernel_host {

/// The children of this process, whichever thread started them.
std::vector<pid_t> children();

/// Ends all children but `kept` and waits for them; gives their number.
std::size_t end_children(const std::vector<pid_t>& kept = {});

/// Forks. The child returns, and is to run the kernel; it ends when its parent does. The parent
/// never returns: it has no code of the kernel in it, and whatever processes the kernel starts
/// become its own when their parents end (a subreaper), also those that left their group or
/// session. When the child has ended, or the auditor is gone, which `control` shows, it ends all of
/// them and then ends as the child did.
void fork_supervised(int control);

}  // namespace gqa::kernel_host
