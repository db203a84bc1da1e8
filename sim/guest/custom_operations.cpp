// Does every custom operation once. What they store must be there on every machine; the rest is nothing elsewhere.
#include <sim/guest/operations.hpp>
#include <sim/guest/text.hpp>

int main(int, char**) {
    using namespace holdfast::guest;
    static std::uint64_t words[8] = {1, 2, 3};
    begin_transaction(7);
    words[0] = 11;
    store_non_temporal(words + 1, 22);
    write_back_line(words);
    fence_persists();
    commit_transaction();
    create_log(words, 4096);
    truncate_log();
    grow_log(words + 4, 8192);
    begin_region_of_interest();
    end_region_of_interest();
    begin_spinning();
    end_spinning();
    static std::uint64_t saved = 0;
    save_transaction(&saved);
    restore_transaction(saved);
    line().add("stored ").add_decimal(words[0]).add(" ").add_decimal(words[1]).add(" ").add_decimal(words[2]).write();
    return 0;
}
