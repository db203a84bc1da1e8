// The headers of the compiler that loads the plugin, in the order that they demand.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <gcc-plugin.h>
#include <plugin-version.h>

#include <context.h>
#include <tree.h>
// Before diagnostic-core.h, as it demands.
#include <c-family/c-common.h>
#include <c-family/c-pragma.h>
#include <basic-block.h>
#include <gimple.h>
#include <gimple-iterator.h>
#include <gimple-expr.h>
#include <gimplify.h>
#include <gimple-ssa.h>
#include <tree-phinodes.h>
#include <ssa-iterators.h>
#include <tree-pass.h>
#include <dominance.h>
#include <tree-cfg.h>
#include <tree-into-ssa.h>
#include <cgraph.h>
#include <diagnostic-core.h>
#include <trans-mem.h>
#include <stringpool.h>
#include <value-range.h>
#include <tree-ssanames.h>
#include <tree-ssa.h>
