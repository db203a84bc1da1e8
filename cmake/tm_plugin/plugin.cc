// A plugin of g++ that refuses or mends what g++ 12 makes wrong in atomic blocks: each header here says what, and how.
//
// It defines HOLDFAST_TM_PLUGIN, by which holdfast/itm/itm.hpp knows that it is there. It also gives each static
// variable of a dnv pool a section of its own, with the variable's name, so that a linker script can put it at its old
// place (holdfast/dnv/holdfast_dnv.ld).
//
// Compiled by holdfast_target_tm for the compiler that will load it: the interface differs between versions.
#include "bit_fields.hpp"
#include "cancels.hpp"
#include "ends.hpp"
#include "results.hpp"
#include "structures.hpp"
#include "values.hpp"

int plugin_is_GPL_compatible;

namespace {

/// Where pragmas are registered, which the preprocessor by itself does, too. Preprocessed text defines nothing more.
void define_macro(void*, void*) {
    if (cpp_get_options(parse_in)->preprocessed) return;
    // Debug information about macros (-g3) has no place for one yet.
    auto& told = cpp_get_callbacks(parse_in)->define;
    const auto kept = told;
    told = nullptr;
    cpp_define(parse_in, "HOLDFAST_TM_PLUGIN=1");
    told = kept;
}

/// Behind the frontend, which has decided what there is.
void name_sections(void*, void*) {
    static const char shared[] = "holdfast_dnv_statics";
    varpool_node* node;
    FOR_EACH_VARIABLE(node) {
        const char* const section = node->get_section();
        if (section == nullptr || std::string(section) != shared) continue;
        const char* name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(node->decl));
        if (*name == '*') ++name;
        node->set_section((std::string(shared) + "." + name).c_str());
    }
}

template <class Pass>
void add_pass(const char* plugin, const char* reference, pass_positioning_ops position) {
    register_pass_info about = {new Pass(g), reference, 1, position};
    register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, nullptr, &about);
}

}  // namespace

int plugin_init(plugin_name_args* name, plugin_gcc_version* compiler) {
    if (!plugin_default_version_check(compiler, &gcc_version)) return 1;
    const char* const self = name->base_name;
    // A pass that is there only where there are blocks.
    if (flag_tm) add_pass<split_early_ends>(self, "tmipa", PASS_POS_INSERT_BEFORE);
    // Before blocks are put in order with the rest.
    if (flag_tm) add_pass<refuse_cancels>(self, "*diagnose_tm_blocks", PASS_POS_INSERT_BEFORE);
    // Before the passes that make barriers.
    add_pass<drop_copies>(self, "*tminit", PASS_POS_INSERT_BEFORE);
    add_pass<refuse_results>(self, "*tminit", PASS_POS_INSERT_BEFORE);
    add_pass<mend_structures>(self, "*tminit", PASS_POS_INSERT_BEFORE);
    add_pass<split_ends>(self, "*tminit", PASS_POS_INSERT_BEFORE);
    add_pass<refuse_bit_fields>(self, "tmmark", PASS_POS_INSERT_AFTER);
    // Behind the last of them, which makes begins and ends.
    add_pass<keep_values>(self, "tmedge", PASS_POS_INSERT_AFTER);
    register_callback(self, PLUGIN_PRAGMAS, &define_macro, nullptr);
    register_callback(self, PLUGIN_ALL_IPA_PASSES_START, &name_sections, nullptr);
    return 0;
}
