// STAMP's kmeans: points are gathered around centers, until few of them change to another one.
//
//   1  Each thread has a part of the points. It finds the center that is nearest to a point, and adds the point to what
//      is summed up for that center: a transaction, whose length grows with the dimensions. The fewer centers, the more
//      of these transactions meet.
//   2  A thread that is through adds how many of its points have changed: a transaction for each iteration.
//   3  When all are there, one of them takes the sums, a transaction for each center, and moves the centers to the
//      means.
//
// Shared are the sums, on lines of their own for each center, and the count of changes. Private are the points, their
// centers' numbers and the centers, which change only while all other threads wait: most of the time goes into reading
// them.
//
// Without the centers the sums are worth nothing: a resumed run clears them and starts with the first iteration.
//
// A transaction loads and stores 17.0 words on average in kmeans-low and kmeans-high, of which 16 are floats, two in a
// word of memory, and 38 and 55 percent of the time are in transactions (one thread, `value`). In the published table
// they are short, have small sets, take little of the time and seldom meet.
#pragma once

#include <workload/gen/points.hpp>
#include <workload/stamp/frame.hpp>
#include <workload/stamp/private_array.hpp>

namespace holdfast::workload {

template <access Access, class Private = own_memory>
class kmeans_program;

/// The letters in brackets are STAMP's.
struct kmeans_parameters {
    template <class Access>
    using program = kmeans_program<Access>;

    std::uint64_t clusters = 40;         ///< (m, n)
    double threshold = 0.05;             ///< (t) of all points, how many may still change at the end
    std::uint64_t points = 2048;         ///< (n of the input)
    std::uint64_t dimensions = 16;       ///< (d of the input)
    std::uint64_t input_clusters = 16;   ///< (c of the input)
    std::uint64_t seed = 1;
};

inline constexpr stamp_set<kmeans_parameters> kmeans_sets[]{
    {"kmeans-high", "small", {.clusters = 15}},
    {"kmeans-high", "+", {.clusters = 15, .points = 16384, .dimensions = 24}},
    {"kmeans-high", "++", {.clusters = 15, .threshold = 0.00001, .points = 65536, .dimensions = 32}},
    {"kmeans-low", "small", {.clusters = 40}},
    {"kmeans-low", "+", {.clusters = 40, .points = 16384, .dimensions = 24}},
    {"kmeans-low", "++", {.clusters = 40, .threshold = 0.00001, .points = 65536, .dimensions = 32}},
};

/// Of a center, before its `dimensions` sums.
struct kmeans_sums {
    std::uint64_t members;

    float* first() noexcept { return reinterpret_cast<float*>(this + 1); }
};

struct kmeans_root {
    void* block;            ///< as it was allocated
    std::uint64_t changed;  ///< points in this iteration
};

/// `Private`: where private data are (own_memory).
template <access Access, class Private>
class kmeans_program {
    template <class T>
    using array = private_array<T, Private>;

public:
    using root_type = kmeans_root;

    kmeans_program(Access memory, kmeans_root* root, const kmeans_parameters& given)
        : memory_(memory),
          root_(root),
          given_(given),
          stride_((sizeof(kmeans_sums) + given.dimensions * sizeof(float) + line_bytes - 1) / line_bytes * line_bytes),
          points_(given.points * given.dimensions),
          center_of_(given.points),
          centers_(given.clusters * given.dimensions),
          centers_before_(given.clusters * given.dimensions),
          members_(given.clusters) {
        const point_generator generator(given.seed, given.dimensions, given.input_clusters);
        const private_array<float> one(given.dimensions);
        for (std::uint64_t i = 0; i < given.points; ++i) {
            generator.point(i, one.data());
            Private::inside(memory_, [&] {
                for (std::uint64_t k = 0; k < given.dimensions; ++k) point(i)[k] = one[k];
            });
        }
    }

    bool begin(std::uint64_t threads) {
        return memory_.atomically([&] {
            memory_.store(&root_->block, memory_.allocate(given_.clusters * stride_ + line_bytes));
        }) && resume(threads);
    }

    bool resume(std::uint64_t threads) {
        Private::inside(memory_, [&] {
            for (std::uint64_t& each : center_of_) each = none;
            start_at(centers_);
        });
        changed_of_ = private_array<std::uint64_t>(threads);
        changes_are_lost_ = false;
        iterations_ = 0;
        counted_ = 0;
        return memory_.atomically([&] {
            memory_.store(&root_->changed, 0);
            for (std::uint64_t center = 0; center < given_.clusters; ++center) {
                memory_.store(&sums(center)->members, 0);
                for (std::uint64_t i = 0; i < given_.dimensions; ++i) memory_.store(sums(center)->first() + i, 0.0f);
            }
        });
    }

    /// No more points are in the sums than there are.
    check_report look() const {
        check_report report;
        std::uint64_t members = 0;
        for (; report.count < given_.clusters; ++report.count) members += memory_.load(&sums(report.count)->members);
        if (members > given_.points || memory_.load(&root_->changed) > given_.points)
            report.problem = "more points are in the sums than there are";
        return report;
    }

    template <class Thread>
    void work(Thread& me) {
        const stamp_part mine = me.part_of(given_.points);
        // Loaded once: a load outside of transactions has one of its own in some forms.
        const std::uintptr_t first = first_sums();
        for (;;) {
            std::uint64_t changed = 0;
            for (std::uint64_t i = mine.first; i < mine.last; ++i) {
                std::uint64_t nearest = 0;
                Private::inside(memory_, [&] {
                    nearest = nearest_center(i);
                    if (center_of_[i] != nearest) ++changed;
                    center_of_[i] = nearest;
                });
                add_point(me, i, sums_at(first, nearest));
            }
            add_changed(me, changed);
            changed_of_[me.number()] = changed;
            me.wait();
            if (me.number() == 0) move_centers(me);
            me.wait();
            if (!goes_on_) return;
        }
    }

    check_report check() const {
        check_report report;
        private_array<std::uint64_t> members(given_.clusters);
        private_array<double> means(given_.clusters * given_.dimensions);
        for (std::uint64_t i = 0; i < given_.points; ++i, ++report.count) {
            const std::uint64_t center = center_of_[i];
            if (center >= given_.clusters) return report.problem = "a point has no center", report;
            if (distance(i, centers_before_, center) > distance_to_nearest(i, centers_before_) * (1 + rounding))
                return report.problem = "a point's center is not the nearest", report;
            ++members[center];
            for (std::uint64_t k = 0; k < given_.dimensions; ++k)
                means[center * given_.dimensions + k] += static_cast<double>(point(i)[k]);
        }
        report.problem = problem_of_means(members, means);
        if (report.ok() && changes_are_lost_) report.problem = "points that changed were not counted, or twice";
        if (report.ok() && counted_ != given_.points * iterations_) report.problem = "a point was lost, or came twice";
        if (report.ok() && !is_as_good_as_reference()) report.problem = "a sequential reference differs by a percent";
        return report;
    }

    std::uint64_t hash() const {
        stamp_hash all;
        for (const std::uint64_t each : center_of_) all.add(each);
        all.add(iterations_);
        return all.value();
    }

    bool end() {
        return memory_.atomically([&] {
            void* const block = memory_.load(&root_->block);
            memory_.store(&root_->block, nullptr);
            memory_.store(&root_->changed, 0);
            memory_.free(block);
        });
    }

private:
    static constexpr std::uint64_t line_bytes = 64;
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    static constexpr std::uint64_t iterations_max = 500;
    static constexpr double rounding = 1e-5;  // of a squared distance of some dozen dimensions in single precision

    float* point(std::uint64_t i) const { return points_.data() + i * given_.dimensions; }

    /// The centers at first: points that lie evenly among all of them, which are in no order.
    template <class Number, class Memory>
    void start_at(const private_array<Number, Memory>& centers) const {
        for (std::uint64_t center = 0; center < given_.clusters; ++center)
            for (std::uint64_t k = 0; k < given_.dimensions; ++k)
                centers[center * given_.dimensions + k] =
                    static_cast<Number>(point(center * given_.points / given_.clusters)[k]);
    }

    std::uintptr_t first_sums() const {
        const auto block = reinterpret_cast<std::uintptr_t>(memory_.load(&root_->block));
        return (block + line_bytes - 1) / line_bytes * line_bytes;
    }
    kmeans_sums* sums_at(std::uintptr_t first, std::uint64_t center) const {
        return reinterpret_cast<kmeans_sums*>(first + center * stride_);
    }
    kmeans_sums* sums(std::uint64_t center) const { return sums_at(first_sums(), center); }

    std::uint64_t nearest_center(std::uint64_t i) const {
        const float* const at = point(i);
        std::uint64_t nearest = 0;
        float shortest = __builtin_inff();
        for (std::uint64_t center = 0; center < given_.clusters; ++center) {
            const float* const other = centers_.data() + center * given_.dimensions;
            float squared = 0;
            for (std::uint64_t k = 0; k < given_.dimensions; ++k) squared += (at[k] - other[k]) * (at[k] - other[k]);
            if (squared >= shortest) continue;
            shortest = squared;
            nearest = center;
        }
        return nearest;
    }

    template <class Thread>
    void add_point(Thread& me, std::uint64_t i, kmeans_sums* to) const {
        const float* const at = point(i);
        const std::uint64_t dimensions = given_.dimensions;
        const auto coordinate = [](const float* which) { return *which; };
        me.atomically(memory_, [=, this] {
            memory_.will_write(&to->members);
            memory_.store(&to->members, memory_.load(&to->members) + 1);
            float* const sum = to->first();
            for (std::uint64_t k = 0; k < dimensions; ++k)
                memory_.store(sum + k, memory_.load(sum + k) + Private::directly(coordinate, at + k));
        });
    }

    template <class Thread>
    void add_changed(Thread& me, std::uint64_t changed) const {
        me.atomically(memory_, [=, this] { memory_.store(&root_->changed, memory_.load(&root_->changed) + changed); });
    }

    /// While all other threads wait.
    template <class Thread>
    void move_centers(Thread& me) {
        std::uint64_t changed = 0;
        me.atomically(memory_, [&] {
            changed = memory_.load(&root_->changed);
            memory_.store(&root_->changed, 0);
        });
        for (std::uint64_t center = 0; center < given_.clusters; ++center) move_center(me, center);
        std::uint64_t known = 0;
        for (const std::uint64_t each : changed_of_) known += each;
        if (changed != known) changes_are_lost_ = true;
        ++iterations_;
        goes_on_ = !me.failed() && iterations_ < iterations_max &&
                   static_cast<double>(changed) > given_.threshold * static_cast<double>(given_.points);
    }

    /// A center without points stays where it is.
    template <class Thread>
    void move_center(Thread& me, std::uint64_t center) {
        const std::uint64_t dimensions = given_.dimensions;
        kmeans_sums* const from = sums(center);
        float* const to = centers_.data() + center * dimensions;
        float* const before = centers_before_.data() + center * dimensions;
        Private::inside(memory_, [&] {
            for (std::uint64_t k = 0; k < dimensions; ++k) before[k] = to[k];
        });
        std::uint64_t members = 0;
        me.atomically(memory_, [&] {
            float* const sum = from->first();
            members = memory_.load(&from->members);
            memory_.will_write(&from->members);
            memory_.store(&from->members, 0);
            for (std::uint64_t k = 0; k < dimensions; ++k) {
                if (members != 0) to[k] = memory_.load(sum + k) / static_cast<float>(members);
                memory_.store(sum + k, 0.0f);
            }
        });
        Private::inside(memory_, [&] { members_[center] = members; });
        counted_ += members;
    }

    template <class Number, class Memory>
    double distance(std::uint64_t i, const private_array<Number, Memory>& centers, std::uint64_t center) const {
        double squared = 0;
        for (std::uint64_t k = 0; k < given_.dimensions; ++k) {
            const double away = static_cast<double>(point(i)[k]) -
                                static_cast<double>(centers[center * given_.dimensions + k]);
            squared += away * away;
        }
        return squared;
    }
    template <class Number, class Memory>
    std::uint64_t nearest_of(std::uint64_t i, const private_array<Number, Memory>& centers) const {
        std::uint64_t nearest = 0;
        for (std::uint64_t center = 1; center < given_.clusters; ++center)
            if (distance(i, centers, center) < distance(i, centers, nearest)) nearest = center;
        return nearest;
    }
    template <class Number, class Memory>
    double distance_to_nearest(std::uint64_t i, const private_array<Number, Memory>& centers) const {
        return distance(i, centers, nearest_of(i, centers));
    }

    /// `means` are sums yet.
    const char* problem_of_means(const private_array<std::uint64_t>& members,
                                 const private_array<double>& means) const {
        for (std::uint64_t center = 0; center < given_.clusters; ++center) {
            if (members[center] != members_[center]) return "a center has other members than were counted";
            if (members[center] == 0) continue;
            const auto count = static_cast<double>(members[center]);
            for (std::uint64_t k = center * given_.dimensions; k < (center + 1) * given_.dimensions; ++k) {
                // Each addition to a sum of at most twice as many loses half a unit in the last place.
                const double away = means[k] / count - static_cast<double>(centers_[k]);
                if (away * count > 1.2e-7 * count * (count + 8) || away * count < -1.2e-7 * count * (count + 8))
                    return "a center is not the mean of its points";
            }
        }
        return nullptr;
    }

    /// The same number of iterations, one point after another in double precision, leaves the points as far from their
    /// centers, within a percent. A point between two centers may go to either, and others follow it.
    bool is_as_good_as_reference() const {
        const std::uint64_t dimensions = given_.dimensions;
        private_array<double> centers(given_.clusters * dimensions);
        start_at(centers);
        double all = 0, reference = 0;
        for (std::uint64_t iteration = 0; iteration < iterations_; ++iteration) {
            private_array<double> sum(given_.clusters * dimensions);
            private_array<std::uint64_t> members(given_.clusters);
            for (std::uint64_t i = 0; i < given_.points; ++i) {
                const std::uint64_t nearest = nearest_of(i, centers);
                ++members[nearest];
                for (std::uint64_t k = 0; k < dimensions; ++k)
                    sum[nearest * dimensions + k] += static_cast<double>(point(i)[k]);
            }
            for (std::uint64_t i = 0; i < given_.clusters * dimensions; ++i)
                if (members[i / dimensions] != 0) centers[i] = sum[i] / static_cast<double>(members[i / dimensions]);
        }
        for (std::uint64_t i = 0; i < given_.points; ++i) {
            all += distance_to_nearest(i, centers_);
            reference += distance_to_nearest(i, centers);
        }
        return all <= reference * 1.01 && reference <= all * 1.01;
    }

    Access memory_;
    kmeans_root* root_;
    kmeans_parameters given_;
    std::uint64_t stride_;
    array<float> points_;
    array<std::uint64_t> center_of_;
    array<float> centers_;
    array<float> centers_before_;     ///< of the last iteration
    array<std::uint64_t> members_;    ///< how many points each center was moved by
    private_array<std::uint64_t> changed_of_;  ///< of each thread, in this iteration, for the check
    bool changes_are_lost_ = false;
    std::uint64_t iterations_ = 0;
    std::uint64_t counted_ = 0;  ///< points, in all iterations
    bool goes_on_ = false;
};

}  // namespace holdfast::workload
