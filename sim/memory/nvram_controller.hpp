// The controller in front of the NVRAM: what is read now, what is written when, and what a crash leaves.
//
// It owns the queues, the write-combining buffer, the DIMM's timing and the image. A read is given its time when it is
// asked for. A write is accepted, waits, goes to its bank by the drain policy (drain.cpp), and reaches the image when
// the array has it and `settle` has passed that moment. What has been answered is never moved afterwards: a fence that
// was told a time finds its bytes in the image at that time.
#pragma once

#include <sim/memory/memory_image.hpp>
#include <sim/memory/write_combining_buffer.hpp>
#include <sim/memory/write_queue.hpp>

namespace holdfast::sim {

struct controller_counters {
    std::uint64_t reads = 0;
    std::uint64_t reads_forwarded = 0;  ///< answered by queued writes
    time read_time{};                   ///< of all reads together: divide by reads for the mean
    std::uint64_t writes = 0;
    std::uint64_t log_writes = 0;
    std::uint64_t partial_writes = 0;  ///< lines of which the buffer had not all bytes
    std::uint64_t drains = 0;          ///< how often the high mark was reached
    std::uint64_t writes_refused = 0;  ///< found the queue full
    time refused_time{};

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor&& visit) {
        visit("reads", self.reads);
        visit("reads_forwarded", self.reads_forwarded);
        visit("read_ps", self.read_time.picoseconds);
        visit("writes", self.writes);
        visit("log_writes", self.log_writes);
        visit("partial_writes", self.partial_writes);
        visit("drains", self.drains);
        visit("writes_refused", self.writes_refused);
        visit("refused_ps", self.refused_time.picoseconds);
    }
};

class nvram_controller final : public port::log_source {
public:
    nvram_controller(const memory_config& config, const port::ports& attached);

    /// The same contracts as memory_below's, for lines in NVRAM.
    time read(address line, line_data& into, time at);
    time write(const line_write& what, write_origin origin, time at);
    time stream(hart_id hart, address where, std::span<const std::byte> bytes, time at);
    void await(hart_id hart, address line);
    time fence(hart_id hart, time at);
    void peek(address line, line_data& into) const;
    void poke(const line_write& what);

    time append(address where, std::span<const std::byte> bytes, time at, std::uint32_t log = 0) override;
    time flush(time at) override;
    time flush_log(std::uint32_t log, time at) override;

    /// Whether somebody sent write after write without waiting until each was accepted. No queue can hold them, and the
    /// run is void; from that moment on writes are in the image at once.
    bool has_overflowed() const noexcept { return overflowed_; }

    /// Ends what the write-back port asked for with `until_released`.
    void release(address line, time at);

    /// Nothing will be asked for any more that happens before `now`: the least local time of all harts. Call it often:
    /// writes that need no reason to go, such as those of the policy `idle`, go here, and done ones leave the queue.
    void settle(time now) {
        if (now < queue_.next_completion() && !goes_by_itself()) {
            settled_ = std::max(settled_, now);
        } else {
            settle_slowly(now);
        }
    }

    /// Ends the simulation of this memory: what survives when everything stops at `at`.
    memory_image crash(time at);
    /// Everything accepted so far goes to the array; returns when it is there, and settles that.
    time finish(time at);
    /// The same while the machine goes on, but for what the combining buffer has: returns when all is at the persist
    /// point.
    time push_out(time at);

    /// Without time, for filling memory: reads cost nothing, writes are in the image at once. Of those only the log's
    /// are told to the persist point.
    void set_instant(bool instant);

    const memory_image& image() const noexcept { return image_; }
    const nvram_dimm& dimm() const noexcept { return dimm_; }
    const controller_counters& counters() const noexcept { return counters_; }
    /// Writes that have not gone to a bank, the held ones apart.
    std::uint32_t waiting() const noexcept { return waiting_; }

private:
    bool goes_by_itself() const noexcept {
        return (waiting_ != 0 && (config_.drain == drain_policy::idle || draining_)) ||
               (config_.combining_limit != time{} && !combining_.empty());
    }
    bool keeps_order_of(port::source from) const noexcept {
        return from == port::source::log && config_.log_order == log_order::kept;
    }
    void settle_slowly(time now);
    void retire(time until);
    void tell_persisted(const queued_write& write, time at);

    time accept(const line_write& what, port::source from, write_origin origin, time at, std::uint32_t log = 0);
    time make_room(port::source from, time at);
    bool overflows(time at) noexcept;
    time take_read_entry(time at) const noexcept;
    byte_mask overlay_queued(address line, line_data& into) const noexcept;

    time combine(address where, std::span<const std::byte> bytes, port::source from, std::uint32_t log, hart_set harts,
                 time at);
    time send_combined(std::size_t age, time at);
    bool goes_before(const combined_line& older, const combined_line& newer) const noexcept;
    template <class Which>
    time send_combined_log(time at, Which&& which);

    void let_go(queued_write& write, time at);
    void press(queued_write& write, time at);
    void send_bypassing(time at);
    time send_all(time at);
    void send_log(time at);

    // drain.cpp: which write goes to its bank when.
    void drain(time at);
    bool send_one_per_bank(port::source from, time at);
    void send_while_idle(time until);
    queued_write* next_to_send() const noexcept;
    nvram_bank::plan reserve(const nvram_place& place, access_kind kind, time from);
    void tell_bank(const nvram_bank::plan& chance, const nvram_place& place, access_kind kind, address line,
                   port::source from, time queued) const;
    nvram_bank::plan reserve_in_order(const nvram_place& place, time from);
    nvram_bank::plan send(queued_write& write, time at);
    time after_older_ones(const queued_write& write, time at);

    controller_config config_;
    const port::ports& attached_;
    nvram_dimm dimm_;
    memory_image image_;
    write_queue queue_;
    write_combining_buffer combining_;
    std::vector<time> reads_in_flight_;
    std::size_t next_read_ = 0;

    std::uint32_t waiting_ = 0;
    bool draining_ = false;   ///< marks_between: above the low mark, on the way down
    time drain_until_{};      ///< marks, marks_block: when the last write of the drain begins
    time last_log_accepted_{};
    time last_log_{};         ///< when the array has the last log line that was sent
    time settled_{};
    bool instant_ = false;
    bool overflowed_ = false;
    controller_counters counters_{};
};

}  // namespace holdfast::sim
