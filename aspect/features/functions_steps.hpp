// The steps of functions.cc, which includes it.
#pragma once

const features::feature* objects(size_t* count) {
    using helpers = feature_helpers;
    using objects = feature_second_object;
    using copies = feature_copies;
    using destroyed = feature_destroyed;
    static const features::feature all[] = {
        {"const and other functions inside a transaction, recursion", MAKE(helpers),
         {STEP(helpers, first, return x.const_inside()), STEP(helpers, first, return x.both_inside()),
          STEP(helpers, first, return x.recursive(3)), STEP(helpers, reads, return x.const_inside_const())}},
        {"a second object inside a transaction, and members of one by const reference", MAKE(objects),
         {{features::first | features::second, [](void* lines) -> long {
               return static_cast<objects*>(lines)[0].set_both(static_cast<objects*>(lines)[1], 6);
           }},
          STEP(objects, second, y.set(30); return y.get()), STEP(objects, first, return x.read(y)),
          STEP(objects, reads, return x.same(y) + 2 * x.same(x)), STEP(objects, first, return x.read_inside(x)),
          STEP(objects, first, return x.read_inside(y))}},
        {"a second object's transaction stays when the outer one is rolled back", MAKE(objects),
         {{features::second | features::rolls_back, [](void* lines) -> long {
               objects* at = static_cast<objects*>(lines);
               return thrown([=] { at[0].throw_after(at[1]); }) == 1 && at[0].get() == 1 && at[1].get() == 98;
           }}}},
        {"an object of another class inside a transaction",
         [](void* lines) { new (lines) objects(), new (static_cast<char*>(lines) + 64) feature_other(); },
         {{features::first | features::second, [](void* lines) -> long {
               void* other = static_cast<char*>(lines) + 64;
               return static_cast<objects*>(lines)->to_other_class(*static_cast<feature_other*>(other));
           }},
          STEP(objects, reads, return x.get())}},
        {"constructors: initialisers, delegation, bodies that write and read",
         [](void* lines) { new (lines) copies(4), new (static_cast<char*>(lines) + 64) copies(); },
         {STEP(copies, reads, return x[0] * 1000 + x[1] * 10 + y[1])}},
        {"copy construction, from either half",
         [](void* lines) {
             alignas(64) char room[64] = {};
             copies& from = *new (room) copies(4);
             new (lines) copies(from), from.set(8), new (static_cast<char*>(lines) + 64) copies(from);
         },
         {STEP(copies, reads, copies by_value(y); return by_value[0] * 10 + x[0]),
          STEP(copies, first, x.set(3); copies again(x); return again == x),
          STEP(copies, reads, copies again(x); again.set(5); return again[0] + x[0])}},
        {"copy assignment that the class declares, and assignment to itself", MAKE(copies),
         {STEP(copies, first, x.set(5); return 0), STEP(copies, second, y = x; return y[0]),
          STEP(copies, second, y = *&y; return y[0]), STEP(copies, second, y.set(1); return y[1]),
          STEP(copies, first, x = *x.shown(); return x[0])}},
        {"operators and conversions", MAKE(copies),
         {STEP(copies, first, return (x += 4)[0]),
          STEP(copies, first, return (++x)[0]),
          STEP(copies, first, return x++),
          STEP(copies, first, return x(6)),
          STEP(copies, reads, return (x == y) + 2 * (x != y) + (std::as_const(x) ? 4 : 0)),
          STEP(copies, first, int converted = x; return converted), STEP(copies, first, return x.self() == &x)}},
        {"destructors that call functions", MAKE(destroyed),
         {STEP(destroyed, first, x.set(6); return 0),
          {features::reads | features::woven_only, [](void*) -> long {
               int heard = 0;
               {
                   destroyed local;
                   local.set(9), local.tell(&heard);
               }
               return heard == 9;
           }}}},
    };
    *count = sizeof all / sizeof *all;
    return all;
}

const features::feature* functions(size_t* count) {
    using kinds = feature_kinds_of_functions;
    using lambdas = feature_lambdas;
    using exceptions = feature_exceptions;
    static const features::feature all[] = {
        {"static members and functions, early return, values, references to the object", MAKE(kinds),
         {STEP(kinds, first, x.clamped(20); return kinds::called() > 0), STEP(kinds, first, return x.early(-1)),
          STEP(kinds, first, return x.early(7)),
          STEP(kinds, first, return x.early(2)),
          STEP(kinds, first, return x.value()),
          STEP(kinds, second, return &y.chained(4) == &y),
          STEP(kinds, reads, return &x.shown() == &x && x.shown().get() == 6)}},
        {"overloads, default arguments, noexcept, ref-qualifiers", MAKE(kinds),
         {STEP(kinds, first, x.over(3); return x.over("a")), STEP(kinds, first, x.over(3.5); return x.get()),
          STEP(kinds, first, x.defaulted(); return x.get()), STEP(kinds, first, x.quiet(); return x.get()),
          STEP(kinds, first, x.left(); return std::as_const(x).left()),
          STEP(kinds, reads, return x.copied(3).get() * 10 + kinds::made(5).get())}},
        {"deduced and trailing types, out of line, returned structures, pointers to functions", MAKE(kinds),
         {STEP(kinds, reads, return x.deduced() + x.structure().second), STEP(kinds, first, return x.trailing()),
          STEP(kinds, first, x.out_of_line(21); return x.get()),
          STEP(kinds, first, auto pointer = &kinds::out_of_line; (x.*pointer)(22); return x.get()),
          STEP(kinds, first, int (kinds::*pointer)() = &kinds::value; return (x.*pointer)())}},
        {"lambdas inside a function, and functions that call back", MAKE(lambdas),
         {STEP(lambdas, first, x.by_this(); return x.get()), STEP(lambdas, first, x.by_reference(); return x.get()),
          STEP(lambdas, first, x.by_value(); return x.get()), STEP(lambdas, first, return x.generic()),
          STEP(lambdas, first, x.called_later([](lambdas& self) { self.set(self.get() + 1); }, x); return x.get()),
          {features::first, [](void* lines) -> long {
               lambdas& x = *static_cast<lambdas*>(lines);
               x.called_later([](lambdas& self) { self.set(lambdas(self).get() + 2); }, x);
               return x.get();
           }},
          {features::first | features::second, [](void* lines) -> long {
               lambdas* at = static_cast<lambdas*>(lines);
               at[0].called_later([](lambdas& other) { other.set(33); }, at[1]);
               return at[0].get() * 100 + at[1].get();
           }}}},
        {"exceptions", MAKE(exceptions),
         {STEP(exceptions, first, return x.caught(7)),
          STEP(exceptions, rolls_back, return thrown([&] { x.leaves(8); }) == 1 && x.get() == 107),
          STEP(exceptions, rolls_back, return thrown([&] { x.nested(9); }) == 1 && x.get() == 107),
          STEP(exceptions, first, return x.caught(10)), STEP(exceptions, reads, return x.get())}},
    };
    *count = sizeof all / sizeof *all;
    return all;
}
