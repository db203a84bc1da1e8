// A container of one engine as a structure. Beside it a standard container has the same done to it, and says what it
// must hold. Instrumented.
#pragma once

#include <crash/subjects/structure_of.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::crash {

/// `Of` is a workload of containers.hpp, or like one.
template <class Engine, class Of>
class container_structure final : public structure_of<Engine, typename Of::container> {
    using container = typename Of::container;

public:
    container_structure() {
        for (unsigned i = 0; i < Of::universe; ++i) names_.push_back(Of::describe(i));
    }

    std::string_view name() const override { return Of::name; }
    const std::vector<std::string>& operations() const override { return names_; }

    void make() override {
        container& root = make_root();
        this->pool_->atomically([&] { Of::prepare(root); }).value();
        begin_anew();
    }
    void make_at_once() override {
        this->pool_->atomically([&] { Of::prepare(make_root()); }).value();
        begin_anew();
    }
    void apply(unsigned operation, std::uint64_t value, std::byte* root) override {
        struct change_of_mind {};
        try {
            this->pool_->atomically([&] {
                Of::apply(this->at(root), operation, value);
                if (rolls_back(operation)) throw change_of_mind{};
            }).value();
            Of::apply(ordinary_, operation, value);
        } catch (change_of_mind) {
        }
    }

    contents state(const std::byte* root) const override { return Of::contents_of(this->at(root)); }
    contents expected(const std::byte*) const override { return Of::contents_of(ordinary_); }
    void go_on_from(const contents& found) override { ordinary_ = Of::restored(found); }

    bool is_own() const override { return true; }
    std::uint64_t images_of_a_cut() const override {
        if constexpr (requires { Of::images_of_a_cut; }) return Of::images_of_a_cut;
        return 4096;
    }
    std::uint64_t nested_less_often() const override {
        if constexpr (requires { Of::nested_less_often; }) return Of::nested_less_often;
        return 1;
    }
    bool is_for_lives() const override { return requires { Of::is_for_lives; }; }

private:
    container& make_root() { return *this->pool_->template root<container>(explored_root).value(); }
    void begin_anew() {
        ordinary_ = {};
        Of::prepare(ordinary_);
    }
    /// Whether the operation is undone by an exception at its end.
    static bool rolls_back(unsigned operation) {
        if constexpr (requires { Of::rolls_back(operation); }) return Of::rolls_back(operation);
        return false;
    }

    std::vector<std::string> names_;
    typename Of::ordinary ordinary_{};
};

}  // namespace holdfast::crash
