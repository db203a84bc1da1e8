// What the controller has promised holds, whatever comes in between: random traffic, cut at a random moment.
#include <sim/memory/nvram_controller.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace holdfast::sim {

namespace {

constexpr address arena{0x10'0000'0000};

struct request {
    std::uint32_t what = 0;
    std::uint64_t line = 0;
    std::uint64_t pause_ns = 0;
    std::uint64_t ahead_ns = 0;
};

/// Every write carries its number; the image then tells which writes it has.
class promises : public port::persisted {
public:
    promises(const memory_config& config) : controller_(config, attached_) { attached_.on_persist = this; }

    void go(const request& each) {
        now_ += ns(each.pause_ns);
        // Harts run ahead of the time that is settled.
        const time at = now_ + ns(each.ahead_ns);
        const address line = arena + each.line * 256 * 64;
        const hart_id hart{each.what % 4};
        if (each.what < 40) {
            const line_write write = numbered(line);
            controller_.write(write, {port::reason::eviction, each.what < 20 ? hart_set::only(hart) : hart_set{}}, at);
            if (each.what < 20) awaited_[hart.value].push_back({line, number_});
        } else if (each.what < 60) {
            line_data found;
            RC_ASSERT(controller_.read(line, found, at) >= at);
            RC_ASSERT(number_in(found) == newest_[line]);
        } else if (each.what < 75) {
            controller_.append(log_line(), numbered(log_line()).bytes, at);
            log_.push_back({log_line(), number_});
        } else if (each.what < 85) {
            const time done = controller_.fence(hart, at);
            RC_ASSERT(done >= at);
            for (const auto& [awaited, number] : awaited_[hart.value]) promised_.push_back({awaited, number, done});
            awaited_[hart.value].clear();
        } else {
            controller_.settle(now_);
        }
    }

    void cut(time after) {
        const time at = now_ + after;
        const memory_image survives = controller_.crash(at);
        for (const auto& [line, number, done] : promised_) {
            if (done <= at) RC_ASSERT(number_at(survives, line) >= number);
        }
        // A log whose order is kept has no holes: nothing of a later line without all of the earlier ones.
        bool all = true;
        for (const auto& [line, number] : log_) {
            const bool there = number_at(survives, line) == number;
            RC_ASSERT(all || !there || !log_keeps_its_order_);
            all = there;
        }
        for (const auto& [line, number] : newest_) {
            // The array is told line by line what it has, and the image has that.
            if (!survives_in_queue_) RC_ASSERT(number_at(survives, line) == told_[line]);
        }
    }

    void became_durable(const port::persist_event& event) override {
        told_[event.what.line] = number_in(event.what.bytes);
        RC_ASSERT(survives_in_queue_ || event.at >= last_event_);
        last_event_ = event.at;
    }

    bool survives_in_queue_ = false;
    bool log_keeps_its_order_ = false;

private:
    address log_line() const { return arena + (1 << 24) + log_.size() * 64; }
    line_write numbered(address line) {
        line_write write{line, byte_mask::all(), {}};
        newest_[line] = ++number_;
        std::memcpy(write.bytes.data(), &number_, 8);
        return write;
    }
    static std::uint64_t number_in(const line_data& bytes) {
        std::uint64_t number = 0;
        std::memcpy(&number, bytes.data(), 8);
        return number;
    }
    static std::uint64_t number_at(const memory_image& image, address line) {
        line_data bytes;
        image.read(line, bytes);
        return number_in(bytes);
    }

    port::ports attached_;
    nvram_controller controller_;
    std::uint64_t number_ = 0;
    std::map<address, std::uint64_t> newest_, told_;
    std::map<std::uint32_t, std::vector<std::pair<address, std::uint64_t>>> awaited_;
    std::vector<std::tuple<address, std::uint64_t, time>> promised_;
    std::vector<std::pair<address, std::uint64_t>> log_;
    time now_{}, last_event_{};
};

rc::Gen<request> any_request() {
    return rc::gen::build<request>(rc::gen::set(&request::what, rc::gen::inRange<std::uint32_t>(0, 100)),
                                   rc::gen::set(&request::line, rc::gen::inRange<std::uint64_t>(0, 20)),
                                   rc::gen::set(&request::pause_ns, rc::gen::inRange<std::uint64_t>(0, 120)),
                                   rc::gen::set(&request::ahead_ns, rc::gen::inRange<std::uint64_t>(0, 400)));
}

}  // namespace

RC_GTEST_PROP(Promises, AFenceAndTheOrderOfTheLogHoldAtEveryCut, ()) {
    memory_config config;
    config.controller.write_entries = 8;
    config.controller.high_mark = 6;
    config.controller.low_mark = 2;
    config.controller.log_entries = 4;
    config.controller.combining_entries = 2;
    config.controller.drain = *rc::gen::element(drain_policy::marks, drain_policy::marks_block,
                                                drain_policy::marks_between, drain_policy::until_full,
                                                drain_policy::idle);
    config.controller.log =
        *rc::gen::element(log_arbitration::log_first, log_arbitration::in_order, log_arbitration::data_first);
    config.controller.log_order = *rc::gen::element(log_order::any, log_order::kept);
    config.controller.persist = *rc::gen::element(persist_point::array, persist_point::controller);
    promises run(config);
    run.log_keeps_its_order_ = config.controller.log_order == log_order::kept;
    run.survives_in_queue_ = config.controller.persist == persist_point::controller;
    for (const request& each : *rc::gen::container<std::vector<request>>(200, any_request())) run.go(each);
    run.cut(ns(*rc::gen::inRange<std::uint64_t>(0, 3000)));
}

}  // namespace holdfast::sim
