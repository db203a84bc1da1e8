/* Uses the interface as a C program does; wrap_test.cpp calls it. */
#include <holdfast/c/wrap.h>

#include <string.h>

struct account {
    int64_t balance;
    char owner[13]; /* odd on purpose: stores of any size and alignment */
    char padding[3];
};

int transfer(const char* path, const struct holdfast_options* options, int64_t amount);
int balances(const char* path, const struct holdfast_options* options, int64_t* first, int64_t* second, char* owner);

/* Moves `amount` from the first account to the second, names the second's owner, and aborts another wrap between. */
int transfer(const char* path, const struct holdfast_options* options, int64_t amount) {
    holdfast_pool* pool = NULL;
    int status = holdfast_open_or_create(path, options, &pool);
    if (status != HOLDFAST_OK) return status;
    void* found = NULL;
    status = holdfast_root(pool, "accounts", 2 * sizeof(struct account), "1", &found);
    if (status == HOLDFAST_OK) {
        struct account* const accounts = found;
        wrap_id id, other;
        int64_t balance = 0;
        const int64_t nonsense = 12345;
        if (OpenWrap(pool, &id) != HOLDFAST_OK || OpenWrap(pool, &other) != HOLDFAST_OK) return HOLDFAST_MISUSE;
        wrapStore(other, &accounts[0].balance, &nonsense, sizeof nonsense);
        wrapLoad(id, &accounts[0].balance, &balance, sizeof balance);
        balance -= amount;
        wrapStore(id, &accounts[0].balance, &balance, sizeof balance);
        wrapLoad(id, &accounts[1].balance, &balance, sizeof balance);
        balance += amount;
        wrapStore(id, &accounts[1].balance, &balance, sizeof balance);
        wrapStore(id, accounts[1].owner + 1, "ecilia", 6);
        wrapStore(id, accounts[1].owner, "C", 1);
        AbortWrap(other);
        status = CloseWrap(id);
    }
    const int closed = holdfast_close(pool);
    return status != HOLDFAST_OK ? status : closed;
}

int balances(const char* path, const struct holdfast_options* options, int64_t* first, int64_t* second, char* owner) {
    holdfast_pool* pool = NULL;
    int status = holdfast_open(path, options, &pool);
    if (status != HOLDFAST_OK) return status;
    void* found = NULL;
    status = holdfast_root(pool, "accounts", 2 * sizeof(struct account), "1", &found);
    if (status == HOLDFAST_OK) {
        const struct account* const accounts = found;
        *first = accounts[0].balance;
        *second = accounts[1].balance;
        memcpy(owner, accounts[1].owner, sizeof accounts[1].owner);
    }
    const int closed = holdfast_close(pool);
    return status != HOLDFAST_OK ? status : closed;
}
