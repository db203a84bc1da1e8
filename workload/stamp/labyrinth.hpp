// STAMP's labyrinth: paths through a grid of three dimensions that connect pairs of cells and do not touch each other.
// Algorithm: C. Y. Lee, "An Algorithm for Path Connections and Its Applications", 1961.
//
//   1  A thread takes a pair from the queue, a transaction.
//   2  It copies the grid, some cells in each transaction: a path that is laid meanwhile disturbs one of them only.
//      That the copy has cells of different moments does no harm, since cells are taken and never become free.
//   3  In the copy it looks for a shortest path, from one end in waves to the other, and back.
//   4  A transaction finds that all cells of the path are free still, and takes them. If they are not, the thread goes
//      on with a new copy.
//
// Shared are the grid and the queue. Private are the copies, the waves, and which pairs could be connected: the search
// itself reads no shared memory. The program that was published has steps 2 to 4 in one transaction, which copies the
// grid without telling the transactional memory. That is a race where only transactions may read what transactions
// change, so that the copy is made of transactions here, and they are shorter.
//
// A resumed run sees in the grid which paths were laid, and puts all other pairs into the queue again. Among these are
// the ones that threads had taken from it, and those that could not be connected, which cannot be now either.
//
// A transaction loads 227 and stores 1.3 words on average, nearly all of them in copies of 256 cells, and half of
// the time are in transactions (one thread, `value`). In the published table they are long, have large sets, take all
// of the time and meet often.
#pragma once

#include <workload/ds/queue.hpp>
#include <workload/gen/maze.hpp>
#include <workload/stamp/frame.hpp>
#include <workload/stamp/private_array.hpp>

namespace holdfast::workload {

template <access Access>
class labyrinth_program;

/// The letters in brackets are STAMP's, of its inputs.
struct labyrinth_parameters {
    template <class Access>
    using program = labyrinth_program<Access>;

    maze_size size{32, 32, 3};  ///< (x, y, z)
    std::uint64_t paths = 96;   ///< (n)
    std::uint64_t seed = 1;
};

inline constexpr stamp_set<labyrinth_parameters> labyrinth_sets[]{
    {"labyrinth", "small", {}},
    {"labyrinth", "+", {.size = {48, 48, 3}, .paths = 64}},
    {"labyrinth", "++", {.size = {512, 512, 7}, .paths = 512}},
};

struct labyrinth_root {
    alignas(64) std::uint64_t* grid;  ///< for each cell 0, or the number of its path, which begin with 1
    alignas(64) queue_root<std::uint64_t> waiting;  ///< paths by their numbers
};

template <access Access>
class labyrinth_program {
public:
    using root_type = labyrinth_root;

    labyrinth_program(Access memory, labyrinth_root* root, const labyrinth_parameters& given)
        : memory_(memory),
          root_(root),
          given_(given),
          waiting_(memory, &root->waiting),
          ends_(given.paths),
          laid_(given.paths) {
        const private_array<std::uint8_t> taken(given.size.cells());
        make_maze(given.seed, given.size, ends_.data(), given.paths, taken.data());
    }

    /// Ends are taken by their paths from the beginning.
    bool begin(std::uint64_t) {
        for (std::uint64_t& each : laid_) each = 0;
        std::uint64_t* grid = nullptr;
        const bool made = memory_.atomically([&] {
            grid = static_cast<std::uint64_t*>(memory_.allocate(given_.size.cells() * sizeof(std::uint64_t)));
            memory_.store(&root_->grid, grid);
        });
        const auto clear = [&](std::uint64_t cell) { memory_.store(grid + cell, 0); };
        const auto enter = [&](std::uint64_t i) {
            memory_.store(grid + ends_[i].from, i + 1);
            memory_.store(grid + ends_[i].to, i + 1);
            waiting_.push(i + 1);
        };
        return made && each_few(memory_, {0, given_.size.cells()}, at_once, clear) &&
               each_few(memory_, {0, given_.paths}, at_once, enter);
    }

    bool resume(std::uint64_t) {
        for (std::uint64_t path = 1; path <= given_.paths; ++path) laid_[path - 1] = length_of(path) != 0 ? 1 : 0;
        const auto enter_if_not_laid = [&](std::uint64_t i) {
            if (laid_[i] == 0) waiting_.push(i + 1);
        };
        return memory_.atomically([&] { waiting_.dispose(); }) &&
               each_few(memory_, {0, given_.paths}, at_once, enter_if_not_laid);
    }

    /// Each path has its ends, and either all cells from one to the other or no more.
    check_report look() const {
        check_report report;
        private_array<std::uint64_t> cells_of(given_.paths + 1);
        if (!count_cells(cells_of)) return report.problem = no_such_path, report;
        for (std::uint64_t path = 1; path <= given_.paths; ++path, ++report.count) {
            const maze_ends& ends = ends_[path - 1];
            if (memory_.load(grid() + ends.from) != path || memory_.load(grid() + ends.to) != path)
                return report.problem = "an end was taken", report;
            const std::uint64_t length = length_of(path);
            if (cells_of[path] != (length != 0 ? length : 2)) return report.problem = "a path is torn", report;
        }
        return report;
    }

    template <class Thread>
    void work(Thread& me) {
        scratch mine(given_.size.cells());
        while (!me.failed()) {
            std::uint64_t path = 0;  // none has this number
            if (!me.atomically(memory_, [waiting = waiting_, &path] { path = waiting.pop_or(0); }) || path == 0) return;
            bool done = false;
            while (!done && !me.failed()) {
                copy_grid(me, mine);
                if (!find(path, mine)) break;
                if (!me.atomically(memory_, [this, path, cells = mine.path.data(), length = mine.length, &done] {
                        done = take(path, cells, length);
                    }))
                    return;
            }
            laid_[path - 1] = done ? 1 : 0;
        }
    }

    /// Each path that was laid leads from one end to the other and has no other cells. The others have only their ends,
    /// and there is no way between them: a cell that is taken stays so.
    check_report check() const {
        check_report report;
        if (!waiting_.empty()) return report.problem = "a pair was left", report;
        private_array<std::uint64_t> cells_of(given_.paths + 1);
        if (!count_cells(cells_of)) return report.problem = no_such_path, report;
        scratch seen(given_.size.cells());
        for (std::uint64_t cell = 0; cell < given_.size.cells(); ++cell) seen.copy[cell] = memory_.load(grid() + cell);
        for (std::uint64_t path = 1; path <= given_.paths; ++path, ++report.count) {
            if (laid_[path - 1] == 0 && find(path, seen)) return report.problem = "there is a way for a pair", report;
            const std::uint64_t length = laid_[path - 1] != 0 ? length_of(path) : 2;
            if (length == 0) return report.problem = "a path does not reach its other end", report;
            if (length != cells_of[path]) return report.problem = "a path has more cells than lead to its end", report;
        }
        return report;
    }

    std::uint64_t hash() const {
        stamp_hash all;
        for (std::uint64_t cell = 0; cell < given_.size.cells(); ++cell) all.add(memory_.load(grid() + cell));
        return all.value();
    }

    bool end() {
        return memory_.atomically([&] {
            std::uint64_t* const cells = grid();
            memory_.store(&root_->grid, nullptr);
            memory_.free(cells);
            waiting_.dispose();
        });
    }

private:
    static constexpr std::uint64_t at_once = 256;  // cells: as many as fit into a transaction of a processor
    static constexpr std::uint64_t unreached = ~std::uint64_t{0};

    /// What a thread needs for its search.
    struct scratch {
        explicit scratch(std::uint64_t cells) : copy(cells), distance(cells), wave(cells), path(cells) {}
        private_array<std::uint64_t> copy;
        private_array<std::uint64_t> distance;  ///< from the first end
        private_array<std::uint64_t> wave;      ///< cells in the order in which they were reached
        private_array<std::uint64_t> path;      ///< from the second end, which is not in it, to before the first
        std::uint64_t length = 0;               ///< of `path`
    };

    std::uint64_t* grid() const { return memory_.load(&root_->grid); }

    static constexpr const char* no_such_path = "a cell has no such path";
    /// How many cells each path has; 0 stands for none. False if a cell has no such path.
    bool count_cells(private_array<std::uint64_t>& cells_of) const {
        for (std::uint64_t cell = 0; cell < given_.size.cells(); ++cell) {
            const std::uint64_t path = memory_.load(grid() + cell);
            if (path > given_.paths) return false;
            ++cells_of[path];
        }
        return true;
    }

    template <class Thread>
    void copy_grid(Thread& me, scratch& mine) const {
        const std::uint64_t cells = given_.size.cells();
        const std::uint64_t* const from = grid();
        std::uint64_t* const to = mine.copy.data();
        for (std::uint64_t first = 0; first < cells && !me.failed(); first += at_once) {
            const std::uint64_t last = first + at_once < cells ? first + at_once : cells;
            me.atomically(memory_, [=, this] {
                for (std::uint64_t cell = first; cell < last; ++cell)
                    own_memory::store(to + cell, memory_.load(from + cell));
            });
        }
    }

    /// A shortest path in the copy. False if there is none.
    bool find(std::uint64_t path, scratch& mine) const {
        const maze_ends& ends = ends_[path - 1];
        for (std::uint64_t& each : mine.distance) each = unreached;
        mine.distance[ends.from] = 0;
        mine.wave[0] = ends.from;
        std::uint64_t reached = 1;
        for (std::uint64_t next = 0; next < reached && mine.distance[ends.to] == unreached; ++next) {
            const std::uint64_t at = mine.wave[next];
            given_.size.each_neighbour(at, [&](std::uint64_t cell) {
                if (mine.distance[cell] != unreached || (mine.copy[cell] != 0 && cell != ends.to)) return;
                mine.distance[cell] = mine.distance[at] + 1;
                mine.wave[reached++] = cell;
            });
        }
        if (mine.distance[ends.to] == unreached) return false;
        mine.length = 0;
        for (std::uint64_t at = ends.to; mine.distance[at] > 1;) {
            std::uint64_t nearer = at;
            given_.size.each_neighbour(at, [&](std::uint64_t cell) {
                if (mine.distance[cell] + 1 == mine.distance[at]) nearer = cell;
            });
            at = nearer;
            mine.path[mine.length++] = at;
        }
        return true;
    }

    /// False if a cell is not free any more. Inside a transaction.
    bool take(std::uint64_t path, const std::uint64_t* wanted, std::uint64_t length) const {
        std::uint64_t* const cells = grid();
        for (std::uint64_t i = 0; i < length; ++i)
            if (memory_.load(cells + own_memory::load(wanted + i)) != 0) return false;
        for (std::uint64_t i = 0; i < length; ++i) memory_.store(cells + own_memory::load(wanted + i), path);
        return true;
    }

    /// In cells, both ends included; 0 if the path does not reach its end. A shortest path does not touch itself.
    std::uint64_t length_of(std::uint64_t path) const {
        const maze_ends& ends = ends_[path - 1];
        std::uint64_t length = 1;
        for (std::uint64_t at = ends.from, before = at; at != ends.to; ++length) {
            std::uint64_t next = at;
            given_.size.each_neighbour(at, [&](std::uint64_t cell) {
                if (cell != before && memory_.load(grid() + cell) == path) next = cell;
            });
            if (next == at || length > given_.size.cells()) return 0;
            before = at;
            at = next;
        }
        return length;
    }

    Access memory_;
    labyrinth_root* root_;
    labyrinth_parameters given_;
    queue<Access, std::uint64_t> waiting_;
    private_array<maze_ends> ends_;
    private_array<std::uint64_t> laid_;  ///< 1 for each path that was
};

}  // namespace holdfast::workload
