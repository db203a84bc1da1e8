// The front door: pools, fields, containers, and the engines whose callers lock.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/list.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/string.hpp>
#include <holdfast/container/vector.hpp>
#include <holdfast/engine/engines.hpp>
#include <holdfast/handle/line_pool.hpp>
#include <holdfast/handle/pool.hpp>
