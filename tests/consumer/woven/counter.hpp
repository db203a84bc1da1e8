#pragma once

class [[NVM::transactional]] alignas(64) counter {
    long value = 0;

public:
    void add(long more) { value += more; }
    long get() const { return value; }
};
