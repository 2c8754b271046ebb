// Exit status, the same for every command.
#pragma once

namespace gqa::program {

enum ExitStatus : int {
  all_holds = 0,       ///< everything asked for holds, and only then
  decided_wrong = 1,   ///< something was decided to be wrong
  undecided = 2,       ///< something could not be decided within the stated limits
  bad_input = 3,       ///< a file, field or value is not what it must be
  wrong_usage = 64,    ///< the command line is wrong
  internal_error = 70  ///< the program itself failed
};

}  // namespace gqa::program
