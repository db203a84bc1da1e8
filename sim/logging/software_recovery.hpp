// Recovery from the logs that software keeps. Nothing but words of the program's data is written, so it may be cut at
// each of its writes and begin again.
//
//   1. Find the records of each thread's ring: those with a lap. A record that was only partly durable has none, or the
//      lap before.
//   2. What stands behind the newest mark `retired` belongs to the transaction that was open.
//   3. Of a log of old values: write those before the first that is missing, newest record first. No line was written
//      back while one is missing, and one behind it may have what the same transaction stored before.
//   4. Of a log of new values: if the mark `committed` is there, and as many records before it as it says, write them.
#pragma once

#include <sim/base/line.hpp>
#include <sim/base/software_log.hpp>
#include <sim/logging/log_config.hpp>

#include <map>

namespace holdfast::sim {

struct software_recovery_report {
    std::uint64_t undone = 0;  ///< words
    std::uint64_t redone = 0;
};

/// The records of a thread's ring by their positions.
template <class Image>
std::map<std::uint64_t, software_record> software_records_in(const Image& image, std::uint32_t thread) {
    std::map<std::uint64_t, software_record> found;
    for (std::uint64_t slot = 0; slot < software_log_records; ++slot) {
        software_record record{};
        const address place = software_log_of(thread) + slot * sizeof(record);
        image.read_bytes(place, std::as_writable_bytes(std::span(&record, 1)));
        if (record.lap() != 0) found.emplace(record.lap() * software_log_records + slot, record);
    }
    return found;
}

/// `Image` has read_bytes(address, span) and write_bytes(address, span), as memory_image.
/// Requires: `values` is undo or redo; no log that has wrapped 65,535 times.
template <class Image>
software_recovery_report recover_software_logs(Image& image, std::uint32_t threads, logged_values values) {
    software_recovery_report report;
    const auto put = [&](const software_record& record, std::uint64_t& count) {
        image.write_bytes({record.address()}, std::as_bytes(std::span(&record.value, 1)));
        ++count;
    };
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
        const auto records = software_records_in(image, thread);
        auto open = records.end();
        while (open != records.begin() && std::prev(open)->second.address() != software_record::retired) --open;
        if (values == logged_values::undo) {
            const bool has_mark = open != records.begin();
            std::uint64_t expected = has_mark ? std::prev(open)->first + 1 : first_software_record(thread);
            auto end = open;
            for (; end != records.end() && end->first == expected; ++end) ++expected;
            while (end != open) put((--end)->second, report.undone);
            continue;
        }
        for (auto mark = open; mark != records.end(); ++mark) {
            if (mark->second.address() != software_record::committed) continue;
            const auto first = records.lower_bound(mark->first - mark->second.value);
            if (static_cast<std::uint64_t>(std::distance(first, mark)) != mark->second.value) continue;
            for (auto each = first; each != mark; ++each) put(each->second, report.redone);
        }
    }
    return report;
}

}  // namespace holdfast::sim
