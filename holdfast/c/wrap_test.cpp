// The C interface: from a C program, and what it says of wrong calls.
#include <holdfast/c/holdfast.h>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>

extern "C" {
int transfer(const char* path, const holdfast_options* options, std::int64_t amount);
int balances(const char* path, const holdfast_options* options, std::int64_t* first, std::int64_t* second, char* owner);
}

namespace {

using holdfast::persist::test::scratch_directory;

holdfast_options options_in(const char* directory) {
    holdfast_options options{};
    options.bytes = 1 << 20;
    options.tmpfs_is_nvram = std::string(directory) != ".";
    return options;
}

TEST(WrapInC, AProgramKeepsItsAccounts) {
    for (const char* directory : {"/dev/shm", "."}) {
        const scratch_directory scratch(directory);
        const std::string path = scratch.file("accounts");
        const holdfast_options options = options_in(directory);
        ASSERT_EQ(transfer(path.c_str(), &options, 30), HOLDFAST_OK) << holdfast_last_error();
        ASSERT_EQ(transfer(path.c_str(), &options, 12), HOLDFAST_OK) << holdfast_last_error();
        std::int64_t first = 0, second = 0;
        char owner[13];
        ASSERT_EQ(balances(path.c_str(), &options, &first, &second, owner), HOLDFAST_OK) << holdfast_last_error();
        EXPECT_EQ(first, -42);
        EXPECT_EQ(second, 42);
        EXPECT_STREQ(owner, "Cecilia");
    }
}

TEST(WrapInC, BlocksComeAndGoWithTheirWrap) {
    const scratch_directory scratch("/dev/shm");
    const holdfast_options options = options_in("/dev/shm");
    holdfast_pool* pool = nullptr;
    ASSERT_EQ(holdfast_open_or_create(scratch.file("pool").c_str(), &options, &pool), HOLDFAST_OK);
    holdfast_wrap* id = nullptr;
    void* block = nullptr;
    ASSERT_EQ(holdfast_wrap_open(pool, &id), HOLDFAST_OK);
    ASSERT_EQ(holdfast_wrap_allocate(id, 100, &block), HOLDFAST_OK);
    ASSERT_EQ(holdfast_wrap_store(id, block, "text", 5), HOLDFAST_OK);
    ASSERT_EQ(holdfast_wrap_close(id), HOLDFAST_OK);
    EXPECT_STREQ(static_cast<const char*>(block), "text");
    ASSERT_EQ(holdfast_wrap_open(pool, &id), HOLDFAST_OK);
    EXPECT_EQ(holdfast_wrap_free(id, block), HOLDFAST_OK);
    EXPECT_EQ(holdfast_wrap_free(id, nullptr), HOLDFAST_OK);
    ASSERT_EQ(holdfast_wrap_close(id), HOLDFAST_OK);
    ASSERT_EQ(holdfast_wrap_open(pool, &id), HOLDFAST_OK);
    EXPECT_EQ(holdfast_wrap_free(id, block), HOLDFAST_MISUSE) << "it is free already";
    EXPECT_EQ(holdfast_wrap_allocate(id, std::size_t{1} << 40, &block), HOLDFAST_OUT_OF_SPACE);
    EXPECT_EQ(holdfast_wrap_abort(id), HOLDFAST_OK);
    EXPECT_EQ(holdfast_close(pool), HOLDFAST_OK);
}

TEST(WrapInC, ALoadOfSoftwrapNeedsNoWrap) {
    const scratch_directory scratch("/dev/shm");
    holdfast_options options = options_in("/dev/shm");
    for (const char* engine : {"softwrap", "softwrap_lat"}) {
        const bool is_shared = std::string(engine) == "softwrap";
        options.engine = engine;
        holdfast_pool* pool = nullptr;
        ASSERT_EQ(holdfast_open_or_create(scratch.file(engine).c_str(), &options, &pool), HOLDFAST_OK);
        void* root = nullptr;
        ASSERT_EQ(holdfast_root(pool, "root", 64, "1", &root), HOLDFAST_OK);
        holdfast_wrap* id = nullptr;
        ASSERT_EQ(holdfast_wrap_open(pool, &id), HOLDFAST_OK);
        ASSERT_EQ(holdfast_wrap_store(id, root, "text", 5), HOLDFAST_OK);
        char seen[5] = "";
        EXPECT_EQ(holdfast_load_shared(root, seen, sizeof seen), is_shared ? HOLDFAST_OK : HOLDFAST_MISUSE);
        EXPECT_STREQ(seen, is_shared ? "text" : "") << "the wrap is this thread's";
        ASSERT_EQ(holdfast_wrap_close(id), HOLDFAST_OK);
        EXPECT_EQ(holdfast_load_shared(root, seen, sizeof seen), is_shared ? HOLDFAST_OK : HOLDFAST_MISUSE);
        EXPECT_EQ(holdfast_load_shared(nullptr, seen, sizeof seen), HOLDFAST_INVALID_ARGUMENT);
        EXPECT_EQ(holdfast_close(pool), HOLDFAST_OK);
    }
}

/// A pool with an object of 64 bytes.
struct opened_pool {
    explicit opened_pool(const scratch_directory& scratch, const char* engine) : path(scratch.file(engine)) {
        options = options_in("/dev/shm");
        options.engine = engine;
        EXPECT_EQ(holdfast_open_or_create(path.c_str(), &options, &pool), HOLDFAST_OK) << holdfast_last_error();
        EXPECT_EQ(holdfast_root(pool, "root", 64, "1", &root), HOLDFAST_OK) << holdfast_last_error();
    }
    std::string path;
    holdfast_options options{};
    holdfast_pool* pool = nullptr;
    void* root = nullptr;
};

TEST(WrapInC, APoolWithAnOpenWrapStaysOpenAndSoDoesTheWrap) {
    const scratch_directory scratch("/dev/shm");
    for (const char* engine : {"softwrap_lat", "softwrap"}) {
        opened_pool made(scratch, engine);
        holdfast_wrap* first = nullptr;
        holdfast_wrap* second = nullptr;
        ASSERT_EQ(holdfast_wrap_open(made.pool, &first), HOLDFAST_OK);
        ASSERT_EQ(holdfast_wrap_open(made.pool, &second), HOLDFAST_OK);
        ASSERT_EQ(holdfast_wrap_store(first, made.root, "kept", 5), HOLDFAST_OK);
        EXPECT_EQ(holdfast_close(made.pool), HOLDFAST_MISUSE);
        EXPECT_NE(std::string(holdfast_last_error()).find("2 open wraps"), std::string::npos) << holdfast_last_error();
        ASSERT_EQ(holdfast_wrap_abort(second), HOLDFAST_OK);
        EXPECT_EQ(holdfast_close(made.pool), HOLDFAST_MISUSE);
        EXPECT_NE(std::string(holdfast_last_error()).find("1 open wrap;"), std::string::npos) << holdfast_last_error();
        ASSERT_EQ(holdfast_wrap_close(first), HOLDFAST_OK) << holdfast_last_error();
        EXPECT_EQ(holdfast_close(made.pool), HOLDFAST_OK) << holdfast_last_error();
        opened_pool again(scratch, engine);
        EXPECT_STREQ(static_cast<const char*>(again.root), "kept");
        EXPECT_EQ(holdfast_close(again.pool), HOLDFAST_OK);
    }
}

TEST(WrapInC, AClosedPoolIsMisuseInEveryCall) {
    const scratch_directory scratch("/dev/shm");
    for (const char* engine : {"softwrap_lat", "softwrap"}) {
        opened_pool made(scratch, engine);
        ASSERT_EQ(holdfast_close(made.pool), HOLDFAST_OK);
        opened_pool other(scratch, engine);
        EXPECT_NE(other.pool, made.pool) << "else the old one would name the new one";
        holdfast_wrap* none = nullptr;
        void* nothing = nullptr;
        EXPECT_EQ(holdfast_wrap_open(made.pool, &none), HOLDFAST_MISUSE);
        EXPECT_EQ(none, nullptr);
        EXPECT_EQ(holdfast_root(made.pool, "root", 64, "1", &nothing), HOLDFAST_MISUSE);
        EXPECT_EQ(holdfast_close(made.pool), HOLDFAST_MISUSE);
        EXPECT_STREQ(holdfast_last_error(), "the pool was closed");
        EXPECT_EQ(holdfast_close(other.pool), HOLDFAST_OK);
    }
}

TEST(WrapInC, WhatIsWrongIsAStatusAndASentence) {
    const scratch_directory scratch("/dev/shm");
    holdfast_options options = options_in("/dev/shm");
    const std::string path = scratch.file("pool");
    holdfast_pool* pool = nullptr;
    EXPECT_EQ(holdfast_open(path.c_str(), &options, &pool), HOLDFAST_NOT_FOUND);
    EXPECT_NE(std::string(holdfast_last_error()).find(path), std::string::npos) << holdfast_last_error();
    EXPECT_EQ(pool, nullptr);
    EXPECT_EQ(holdfast_open(nullptr, &options, &pool), HOLDFAST_INVALID_ARGUMENT);
    options.engine = "none";
    EXPECT_EQ(holdfast_open_or_create(path.c_str(), &options, &pool), HOLDFAST_ENGINE_MISMATCH);
    EXPECT_NE(std::string(holdfast_last_error()).find("\"none\""), std::string::npos) << holdfast_last_error();
    options.engine = nullptr;
    ASSERT_EQ(holdfast_open_or_create(path.c_str(), &options, &pool), HOLDFAST_OK);
    void* root = nullptr;
    EXPECT_EQ(holdfast_root(pool, "root", 64, "1", &root), HOLDFAST_OK);
    EXPECT_EQ(holdfast_root(pool, "root", 128, "1", &root), HOLDFAST_ROOT_MISMATCH);
    EXPECT_EQ(holdfast_root(pool, "", 64, "1", &root), HOLDFAST_INVALID_ARGUMENT);
    EXPECT_EQ(holdfast_root(nullptr, "root", 64, "1", &root), HOLDFAST_INVALID_ARGUMENT);
    EXPECT_EQ(holdfast_wrap_open(nullptr, nullptr), HOLDFAST_INVALID_ARGUMENT);
    EXPECT_EQ(holdfast_wrap_store(nullptr, root, "x", 1), HOLDFAST_INVALID_ARGUMENT);
    EXPECT_EQ(holdfast_wrap_close(nullptr), HOLDFAST_INVALID_ARGUMENT);
    EXPECT_EQ(holdfast_wrap_abort(nullptr), HOLDFAST_INVALID_ARGUMENT);
    EXPECT_EQ(holdfast_close(nullptr), HOLDFAST_OK);
    EXPECT_EQ(holdfast_close(pool), HOLDFAST_OK);
}

}  // namespace
