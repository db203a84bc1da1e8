// What leaves the function of a transaction when it has to run again.
#pragma once

#include <holdfast/base/words.hpp>

namespace holdfast {

/// Thrown by loads and stores of an engine that isolates by itself (cc_htm), when what the transaction has read is not
/// the state of one moment any more: the library's call of the function catches it, takes everything back and calls the
/// function again. Destructors on the way run. Not a std::exception, so that handlers of errors let it pass. A
/// `catch (...)` that does not throw it on wins nothing: the attempt is over, its loads and stores throw again, and the
/// function runs once more.
struct transaction_conflict {};

}  // namespace holdfast
