// STAMP's intruder: packets of many streams arrive in no order, are put together again, and are searched for signatures
// of attacks.
//
//   1  Capture: a thread takes the oldest packet from the queue, a transaction.
//   2  Reassembly: it puts the packet in its place in the stream's list, which is found in a tree; the first packet
//      makes the list, and with the last one it leaves the tree and enters the queue of complete streams. A
//      transaction.
//   3  A thread takes a complete stream, with its list, out of that queue: a transaction, which finds none most times.
//   4  Detection: it searches the stream's letters for signatures. Nobody else has the stream any more.
//
// Shared are both queues, the tree and the lists. Private are the packets' letters, the text that a thread searches,
// and the attacks that it found. The queues are where threads meet.
//
// Which streams were searched, and what was found, died with the process. So a resumed run takes away what is left in
// the queues and the tree, and all packets arrive again.
//
// A transaction loads 19.2 and stores 4.6 words on average, and 32 percent of the time are in transactions (one
// thread, `value`). In the published table they are short, have medium sets, take some of the time and meet often.
#pragma once

#include <workload/ds/map.hpp>
#include <workload/ds/queue.hpp>
#include <workload/gen/streams.hpp>
#include <workload/sets.hpp>
#include <workload/stamp/frame.hpp>
#include <workload/stamp/private_array.hpp>

namespace holdfast::workload {

template <access Access>
class intruder_program;

/// The letters in brackets are STAMP's.
struct intruder_parameters {
    template <class Access>
    using program = intruder_program<Access>;

    std::uint64_t attack_percent = 10;  ///< (a)
    std::uint64_t packets_max = 4;      ///< (l) of a stream
    std::uint64_t streams = 2038;       ///< (n)
    std::uint64_t seed = 1;             ///< (s)
};

inline constexpr stamp_set<intruder_parameters> intruder_sets[]{
    {"intruder", "small", {}},
    {"intruder", "+", {.packets_max = 16, .streams = 4096}},
    {"intruder", "++", {.packets_max = 128, .streams = 262144}},
};

/// A stream that is not complete, or whose turn has not come.
struct intruder_stream {
    std::uint64_t number;
    std::uint64_t missing;   ///< packets
    list_set_root packets;   ///< by their numbers among all packets, which follow each other in a stream
};

/// On lines of their own: threads that meet at one need not meet at another.
struct intruder_root {
    alignas(64) queue_root<std::uint64_t> arriving;  ///< numbers of packets
    alignas(64) rbtree_uncounted_root streams;       ///< by their numbers: those that are not complete
    alignas(64) queue_root<intruder_stream*> complete;
};

template <access Access>
class intruder_program {
public:
    using root_type = intruder_root;

    intruder_program(Access memory, intruder_root* root, const intruder_parameters& given)
        : memory_(memory),
          given_(given),
          signatures_(given.seed),
          generator_(given.seed, given.attack_percent, given.packets_max),
          arriving_(memory, &root->arriving),
          streams_(memory, &root->streams),
          complete_(memory, &root->complete),
          first_of_(given.streams + 1),
          found_(given.streams) {
        for (std::uint64_t i = 0; i < given.streams; ++i) first_of_[i + 1] = first_of_[i] + generator_.packets(i);
        const std::uint64_t packets = first_of_[given.streams];
        letters_ = private_array<char>(packets * packet_bytes);
        stream_of_ = private_array<std::uint32_t>(packets);
        for (std::uint64_t i = 0; i < given.streams; ++i) {
            generator_.letters(i, signatures_, letters_.data() + first_of_[i] * packet_bytes);
            for (std::uint64_t packet = first_of_[i]; packet < first_of_[i + 1]; ++packet)
                stream_of_[packet] = static_cast<std::uint32_t>(i);
        }
    }

    bool begin(std::uint64_t) {
        for (seen& each : found_) each = seen::nothing;
        const std::uint64_t packets = first_of_[given_.streams];
        std::uint64_t bits = 1;
        while (std::uint64_t{1} << bits < packets) ++bits;
        const permutation order(given_.seed, bits);
        return each_few(memory_, {0, std::uint64_t{1} << bits}, 256, [&](std::uint64_t i) {
            if (order(i) < packets) arriving_.push(order(i));
        });
    }

    bool resume(std::uint64_t threads) {
        bool good = true;
        for (bool any = true; good && any;) good = memory_.atomically([&] { any = take_any(); });
        return good && end() && begin(threads);
    }

    /// The tree is right, and each stream has as many packets as are not missing, all of them its own.
    check_report look() const {
        check_report report = streams_.check();
        if (!report.ok()) return report;
        streams_.each([&](std::int64_t key, const intruder_stream* stream) {
            if (memory_.load(&stream->number) != static_cast<std::uint64_t>(key))
                report.problem = "a stream is at another number";
            else if (memory_.load(&stream->missing) == 0)
                report.problem = "a complete stream is in the tree";
            else if (report.ok())
                report.problem = problem_of(stream);
        });
        complete_.each([&](const intruder_stream* stream) {
            if (memory_.load(&stream->missing) != 0) report.problem = "a stream in the queue is not complete";
            if (report.ok()) report.problem = problem_of(stream);
        });
        return report;
    }

    template <class Thread>
    void work(Thread& me) {
        private_array<char> text(given_.packets_max * packet_bytes);
        private_array<std::int64_t> packets(given_.packets_max);
        while (!me.failed()) {
            std::uint64_t packet = nothing;
            const bool any = me.atomically(
                memory_, [arriving = arriving_, &packet] { packet = arriving.pop_or(nothing); }) && packet != nothing;
            if (!any) return;
            reassemble(me, packet);
            std::uint64_t number = 0, count = 0;
            const bool good = me.atomically(
                memory_, [this, complete = complete_, to = packets.data(), room = packets.count(), &number, &count] {
                    count = take_complete(complete, number, to, room);
                });
            if (good && count != 0) detect(number, packets, count, text);
        }
    }

    /// Each stream was searched once, those with a planted attack were found, and no others.
    check_report check() const {
        check_report report;
        if (!arriving_.empty()) return report.problem = "a packet was left", report;
        if (!complete_.empty()) return report.problem = "a complete stream was left", report;
        if (streams_.check().count != 0) return report.problem = "a stream is not complete", report;
        for (; report.count < given_.streams; ++report.count) {
            const seen was = found_[report.count];
            if (was != seen::attack && was != seen::harmless)
                return report.problem = "a stream was not searched, or not once, or is not what was sent", report;
            if ((was == seen::attack) != generator_.is_attack(report.count))
                return report.problem = "an attack was not found, or found in another stream", report;
        }
        return report;
    }

    std::uint64_t hash() const {
        stamp_hash all;
        for (const seen each : found_) all.add(static_cast<std::uint64_t>(each));
        for (const char letter : letters_) all.add(static_cast<unsigned char>(letter));
        return all.value();
    }

    /// After a run to the end there are no packets and no streams.
    bool end() {
        return memory_.atomically([&] {
            arriving_.dispose();
            complete_.dispose();
        });
    }

private:
    enum class seen : std::uint8_t { nothing, harmless, attack, wrong };
    static constexpr std::uint64_t packet_bytes = stream_generator::packet_bytes;
    static constexpr std::uint64_t nothing = ~std::uint64_t{0};

    template <class Thread>
    void reassemble(Thread& me, std::uint64_t packet) const {
        const std::uint64_t number = stream_of_[packet];
        const std::uint64_t packets = first_of_[number + 1] - first_of_[number];
        me.atomically(memory_, [=, this, streams = streams_, complete = complete_] {
            const auto key = static_cast<std::int64_t>(number);
            intruder_stream* stream = nullptr;
            if (!streams.get(key, stream)) {
                stream = make_stream(number, packets);
                if (packets > 1) streams_.insert(key, stream);
            }
            list_set(memory_, &stream->packets).insert(static_cast<std::int64_t>(packet));
            const std::uint64_t missing = memory_.load(&stream->missing) - 1;
            memory_.store(&stream->missing, missing);
            if (missing != 0) return;
            if (packets > 1) streams_.remove(key);
            complete.push(stream);
        });
    }

    intruder_stream* make_stream(std::uint64_t number, std::uint64_t packets) const {
        auto* const made = static_cast<intruder_stream*>(memory_.allocate(sizeof(intruder_stream)));
        memory_.will_write(made);
        memory_.store(&made->number, number);
        memory_.store(&made->missing, packets);
        memory_.store(&made->packets.first, nullptr);
        return made;
    }

    /// A stream that is complete: its packets in order, and how many; 0 if there is none. Inside a transaction.
    std::uint64_t take_complete(const queue<Access, intruder_stream*>& complete, std::uint64_t& number,
                                std::int64_t* packets, std::uint64_t room) const {
        intruder_stream* stream = nullptr;
        if (!complete.pop(stream)) return 0;
        number = memory_.load(&stream->number);
        const list_set list(memory_, &stream->packets);
        std::uint64_t count = 0;
        for (std::int64_t packet = 0; count < room && list.take_first(packet); ++count)
            own_memory::store(packets + count, packet);
        memory_.free(stream);
        return count;
    }

    /// A stream with its packets. False if there is none. Inside a transaction.
    bool take_any() const {
        intruder_stream* stream = nullptr;
        std::int64_t key = 0;
        if (!complete_.pop(stream)) {
            if (!streams_.first(key, stream)) return false;
            streams_.remove(key);
        }
        const list_set list(memory_, &stream->packets);
        while (list.take_first(key)) {
        }
        memory_.free(stream);
        return true;
    }

    const char* problem_of(const intruder_stream* stream) const {
        const std::uint64_t number = memory_.load(&stream->number);
        if (number >= given_.streams) return "there is no such stream";
        std::uint64_t count = 0;
        for (const set_node* at = memory_.load(&stream->packets.first); at != nullptr; at = memory_.load(&at->next)) {
            const auto packet = static_cast<std::uint64_t>(memory_.load(&at->key));
            if (packet < first_of_[number] || packet >= first_of_[number + 1]) return "a packet is in another stream";
            ++count;
        }
        if (count + memory_.load(&stream->missing) != first_of_[number + 1] - first_of_[number])
            return "a stream has other packets than are not missing";
        return nullptr;
    }

    void detect(std::uint64_t number, const private_array<std::int64_t>& packets, std::uint64_t count,
                const private_array<char>& text) const {
        bool whole = count == first_of_[number + 1] - first_of_[number];
        char* to = text.data();
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto packet = static_cast<std::uint64_t>(packets[i]);
            whole = whole && packet == first_of_[number] + i;
            const char* const from = letters_.data() + packet * packet_bytes;
            for (std::uint64_t k = 0; k < packet_bytes; ++k) *to++ = from[k];
        }
        seen& found = found_[number];
        const bool attack = signatures_.found_in(text.data(), count * packet_bytes);
        found = found != seen::nothing || !whole ? seen::wrong : attack ? seen::attack : seen::harmless;
    }

    Access memory_;
    intruder_parameters given_;
    stream_signatures signatures_;
    stream_generator generator_;
    queue<Access, std::uint64_t> arriving_;
    map<Access, intruder_stream*> streams_;
    queue<Access, intruder_stream*> complete_;
    private_array<std::uint64_t> first_of_;    ///< packet of each stream, and behind all of them
    private_array<seen> found_;                ///< in each stream
    private_array<char> letters_;              ///< of each packet
    private_array<std::uint32_t> stream_of_;   ///< each packet
};

}  // namespace holdfast::workload
