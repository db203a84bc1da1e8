// Flipped bits in a dnv pool: corrected, or named and decided upon.
#include <holdfast/dnv/dnv_test_support.hpp>
#include <holdfast/dnv/home.hpp>

namespace holdfast::dnv::test {
namespace {

TEST_F(Dnv, UpToSixFlippedBitsOfAWordAreCorrectedWhereItIsRead) {
    open();
    push_some(50);
    workload::random random(7);
    for (unsigned flips = 1; flips <= 6; ++flips) {
        for (int round = 0; round < 20; ++round) {
            // A link, an id, a word of the payload, a static variable, a bin, the Chunk Table.
            long* const node = first_node();
            const void* const candidates[] = {node, node + 1, node + 2, &the_space.staged->bins[1][3].free,
                                              &the_space.staged->chunks[0],
                                              reinterpret_cast<const void*>(the_placement.statics_begin)};
            ecc::coded_word* const place = place_of(candidates[random.below(std::size(candidates))]);
            const ecc::coded_word before = *place;
            *place = ecc::flipped_by(before, ecc::random_pattern(flips, random));
            expect_sound_list(50);
            push_front(51, 8);
            EXPECT_EQ(pop_front(), 51);
            if (*place != before) {
                // Not read on the way: by the audit.
                const audit_report found = audit_open_pool(true);
                EXPECT_TRUE(found.problems.empty());
            }
            EXPECT_TRUE(ecc::is_valid(*place));
        }
    }
    EXPECT_GE(dnv_state().mended_words, 100u);
    reopen();
    expect_sound_list(50);
}

TEST_F(Dnv, AWordThatNothingCorrectsIsItsHandlersToDecide) {
    open();
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(64));
    fill_words(block, 8, 5);
    const auto break_word = [&] {
        place_of(block + 3)->word ^= 0x0000'0F0F'0F0F'0000;
        ASSERT_FALSE(ecc::is_valid(*place_of(block + 3)));
    };
    break_word();
    damage told;
    dnv_on_uncorrectable([&](const damage& found) {
        told = found;
        return verdict::leave();
    });
    std::uint64_t sum = 0;
    const auto left = try_to_sum_words(block, 8, sum);
    ASSERT_FALSE(left);
    EXPECT_EQ(left.error().code, errc::corrupt);
    EXPECT_EQ(told.address, block + 3);
    EXPECT_EQ(told.block, block);
    EXPECT_EQ(told.block_bytes, 64u);
    EXPECT_EQ(sum_of_words(block, 3), 15u) << "the rest is usable";
    dnv_on_uncorrectable_in_this_thread([](const damage&) { return verdict::supply(5); });
    EXPECT_EQ(sum_of_words(block, 8), 40u);
    EXPECT_TRUE(ecc::is_valid(*place_of(block + 3)));
    dnv_on_uncorrectable_in_this_thread(nullptr);
    dnv_on_uncorrectable(nullptr);
}

TEST_F(Dnv, FlippedBitsInABlockOfTheTransactionAreCorrected) {
    open();
    const auto flip = [](void* at) {
        if (!the_space.stores_fresh_home) return;
        place_of(at)->word ^= 1;
    };
    EXPECT_EQ(store_around_a_flip(flip), 0x20'0000'0010u);
}

TEST_F(Dnv, AHandlerMayRunBlocksAndSuppliesOnlyWhatNobodyHasStored) {
    open();
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(64));
    fill_words(block, 8, 1000);
    place_of(block)->word ^= 0x0000'0F0F'0F0F'0000;
    std::atomic<int> asked{0};
    dnv_on_uncorrectable([&](const damage&) {
        // The second to be asked answers when the first has gone on.
        const bool is_late = asked.fetch_add(1) != 0;
        if (is_late) ::usleep(20'000);
        return verdict::supply(read_in_block(block + 1));
    });
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread)
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i) add_one(block);
        });
    for (auto& each : threads) each.join();
    EXPECT_EQ(read_in_block(block), 1400u);
    dnv_on_uncorrectable(nullptr);
}

/// The root, the directory of chunks and the names of static variables, which have no codes.
TEST_F(Dnv, AFlippedBitInTheMetadataIsNamedAndRepaired) {
    options_.bytes = 2 << 20;
    open();
    push_some(30);
    const std::byte* const base = the_space.pool->base();
    const auto offset_of = [&](const void* at) {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base);
    };
    std::vector<std::uint64_t> places;
    for (std::size_t at = 0; at < offsetof(root, life); at += 8) places.push_back(offset_of(the_space.in_pool) + at);
    for (std::size_t at = 0; at < sizeof(directory_entry); at += 8)
        places.push_back(offset_of(the_space.directory) + at);
    places.push_back(the_space.in_pool->names.get());
    ASSERT_TRUE(dnv_close());
    workload::random random(11);
    for (const std::uint64_t place : places) {
        for (int round = 0; round < 6; ++round) {
            const std::string copy = directory_ + "/copy";
            fs::copy_file(path(), copy, fs::copy_options::overwrite_existing);
            auto file = persist::file::open(copy, persist::file::access::read_write).value();
            std::uint64_t word = 0;
            file.read_at(place, &word, sizeof word).value();
            word ^= std::uint64_t{1} << random.below(64);
            file.write_at(place, &word, sizeof word, persist::site::measure).value();
            const auto opened = dnv_open(copy, options_);
            EXPECT_EQ(opened ? errc{} : opened.error().code, errc::corrupt) << "offset " << place << ", now " << word;
            if (opened) static_cast<void>(dnv_close());
            const auto checked = check_pool(copy, check_contents);
            EXPECT_TRUE(!checked || !checked->sound());
            if (round != 0) continue;
            EXPECT_NE(opened.error().text().find("holdfast pool check --repair"), std::string::npos);
            const auto mended = mend_pool(copy);
            ASSERT_TRUE(mended) << mended.error().text();
            EXPECT_EQ(mended->flipped_words, 1u);
            EXPECT_TRUE(check_pool(copy, check_contents).value().sound());
            open_at(copy);
            expect_sound_list(30);
            ASSERT_TRUE(dnv_close());
        }
    }
}

TEST_F(Dnv, MoreFlippedBitsInTheMetadataAreLeftAsTheyAre) {
    open();
    push_some(3);
    root& in_pool = *the_space.in_pool;
    const std::uint64_t places[] = {
        static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(&in_pool.names_room) - the_space.pool->base()),
        in_pool.directory.get() + 8, in_pool.names.get()};
    ASSERT_TRUE(dnv_close());
    auto file = persist::file::open(path(), persist::file::access::read_write).value();
    for (const std::uint64_t place : places) {
        std::uint64_t word = 0;
        file.read_at(place, &word, sizeof word).value();
        const std::uint64_t flipped = word ^ 0x100'0010;
        file.write_at(place, &flipped, sizeof word, persist::site::measure).value();
        const auto mended = mend_pool(path());
        EXPECT_TRUE(!mended || mended->flipped_words == 0);
        const auto opened = dnv_open(path(), options_);
        EXPECT_EQ(opened ? errc{} : opened.error().code, errc::corrupt) << place;
        file.write_at(place, &word, sizeof word, persist::site::measure).value();
    }
    open();
    expect_sound_list(3);
}

TEST_F(Dnv, AClosedPoolIsCheckedAndMendedByItsCodes) {
    open();
    push_some(30);
    long* const node = first_node();
    const std::uint64_t offset = the_space.offset_of(node);
    ASSERT_TRUE(dnv_close());
    const auto flip = [&](std::uint64_t bits) {
        auto file = persist::file::open(path(), persist::file::access::read_write).value();
        std::uint64_t word = 0;
        file.read_at(offset, &word, sizeof word).value();
        word ^= bits;
        file.write_at(offset, &word, sizeof word, persist::site::measure).value();
    };
    flip(0x1000'0100);
    auto report = check_pool(path(), check_contents);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->sound());
    EXPECT_EQ(mend_pool(path()).value().flipped_words, 1u);
    EXPECT_EQ(mend_pool(path()).value().flipped_words, 0u);
    flip(0x00FF'00FF'00FF);
    report = check_pool(path(), check_contents);
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->sound());
    flip(0x00FF'00FF'00FF);
    open();
    expect_sound_list(30);
    expect_sound_pool(30);
}

TEST_F(Dnv, AnAuditNamesWhereUnusedBlocksBeginBehindTheirEnd) {
    const auto say = [](const stm::word& at, stm::word value) { *place_of(&at) = {value, ecc::encode(value)}; };
    open();
    push_some(3);
    bin* used = nullptr;
    for (unsigned each = 0; each < classes; ++each)
        if (bin& one = the_space.bin_of(1, each); home::look(&one.unused).value != 0) used = &one;
    ASSERT_NE(used, nullptr);
    const std::uint64_t offset = the_space.offset_of(&used->unused);
    const stm::word end = home::look(&used->unused_end).value, begin = home::look(&used->unused).value;
    for (const stm::word wrong : {stm::word{0}, begin - window_page, begin + 1}) {
        say(used->unused_end, wrong);
        const audit_report found = audit_open_pool(false);
        ASSERT_EQ(found.problems.size(), 1u) << wrong;
        EXPECT_EQ(found.problems[0].offset, offset);
        ASSERT_TRUE(dnv_close());
        EXPECT_FALSE(check_pool(path(), check_contents).value().sound());
        open();
        say(used->unused_end, end);
        expect_sound_pool(3);
    }
}

TEST_F(Dnv, AnUnprotectedPoolHasNoCodesAndItsWordsSideBySide) {
    options_.protect = false;
    open();
    push_some(20);
    std::uint64_t* const block = fill_unprotected(100, 5, [](void*) {});
    for (unsigned at = 0; at < 100; ++at) EXPECT_EQ(&place_of(block + at)->word, &place_of(block)->word + at);
    EXPECT_EQ(&place_of(address_of_count() + 1)->word, &place_of(address_of_count())->code);
    place_of(block + 3)->word ^= 3;
    EXPECT_EQ(sum_of_words(block, 100), 501u) << "the flip of 5 to 6 is not noticed";
    options_.protect = true;
    reopen();
    expect_sound_list(20);
    expect_sound_pool(21);
}

/// With codes the same bytes hold half of it.
TEST_F(Dnv, AnUnprotectedPoolHoldsAsMuchAsItIsLarge) {
    for (const bool protect : {true, false}) {
        options_.protect = protect;
        open();
        std::uint64_t bytes = 0;
        while (dnv_malloc(16 << 10) != nullptr) bytes += 16 << 10;
        const double share = protect ? 0.5 : 1;
        EXPECT_GT(static_cast<double>(bytes), 0.8 * share * static_cast<double>(options_.bytes));
        EXPECT_LT(static_cast<double>(bytes), share * static_cast<double>(options_.bytes));
        expect_sound_pool(bytes / (16 << 10));
        reopen();
        expect_sound_pool(bytes / (16 << 10));
        ASSERT_TRUE(dnv_close());
        std::filesystem::remove(path());
    }
}

}  // namespace
}  // namespace holdfast::dnv::test
