// What tests of pools at `on_power_fail` share: one pool on tmpfs that stands for NVRAM, in a boot with a name.
#pragma once

#include <holdfast/pool/pool_test_support.hpp>

#include <holdfast/powerfail/shadow_log.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

class armed_pool_test : public ::testing::Test {
protected:
    ~armed_pool_test() override { remove_log_in_memory(); }

    std::string path() const { return scratch_.file("pool"); }
    static create_options armed() { return small_nvram_pool(level::on_power_fail); }
    pool_pointer make(const create_options& options = armed()) const {
        auto pool = open_pool::create(path(), redo_like, options);
        if (!pool) throw failure(pool.error());
        return std::move(*pool);
    }
    result<pool_pointer> open(const open_options& options = small_nvram_pool(level::power)) const {
        return open_pool::open(path(), redo_like, options);
    }
    /// What an opening finds in the last word, or why there is none.
    std::string found(const open_options& options = small_nvram_pool(level::power)) const {
        auto pool = open(options);
        return pool ? std::to_string(*last_word(**pool)) : std::string(name_of(pool.error().code));
    }
    /// The machine goes down: nothing in its memory is left.
    void begin_next_boot(const char* name = "tuesday") const {
        remove_log_in_memory();
        stand_ins_now.boot_id = name;
    }
    void remove_log_in_memory() const {
        if (std::filesystem::exists(path()))
            for (const unsigned copy : {0u, 1u}) powerfail::shadow_log::remove(superblock_copy(path(), copy));
    }

    /// What cp does: the file stays the same one.
    void put_back(const std::vector<std::byte>& bytes) const {
        std::fstream(path(), std::ios::binary | std::ios::in | std::ios::out)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }

    scratch_directory scratch_{"/dev/shm"};
    boot_named boot_{"monday"};
};

}  // namespace holdfast::test
