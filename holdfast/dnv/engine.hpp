// The engine of dnv pools as pool/ knows it: redo, for what is not staged.
#pragma once

#include <holdfast/engine/redo.hpp>

namespace holdfast::dnv {

/// Roots, chunks and names of a dnv pool change in transactions of redo; staged words in those of stm/ (home.hpp).
struct engine : engine_interface<engine> {
    using transaction = redo_transaction;
    static constexpr engine_description description{.name = "dnv"};
};

}  // namespace holdfast::dnv
