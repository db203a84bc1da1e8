/* The blue and red queues of ../blue_red_queue.hpp for spin. What stands between two semicolons, or in `atomic`, makes
 * at most one access to what threads share; the steps in comments are those of the source's protocol.
 *
 * Macros: THREADS writers with EACH transactions, RING slots, at most WITHDRAWN transactions that withdraw. A macro with
 * the name of a fault of ../blue_red_faults.hpp leaves that repair out, and spin finds what comes of it. (`two_retire` is
 * not among them: there is one retirer here, and explored_test.cpp has two.)
 *
 * What is verified, by assertions and because there are no invalid end states:
 *   - transactions retire in the order of their stamps, none before a smaller stamp may still come, none before it is
 *     logged (retire);
 *   - none is lost, and nobody waits for ever: all processes end, the retirer after the last transaction (gone);
 *   - no slot is drawn while it is in use, and TxMin is not above an id in the system (draw);
 *   - nobody is turned away from a ring that has room (draw), and the blue head does not pass TxCounter (retirer).
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef EACH
#define EACH 2
#endif
#ifndef RING
#define RING 2
#endif
#define LAST (RING + THREADS * EACH)
#define slot_of(id) ((id) % RING)
#define RETRY 255

/* States of a slot, in this order. */
#define BLUE 0
#define RED 1
#define LOGGED 2
#define RETIRED 3

typedef slot {
    byte id;       /* with `state` the word of the slot */
    byte state;
    byte stamp;
    byte ends;     /* endTS */
    byte owner;    /* with `next` and `flagged` the link: whose it is, the next slot (the own one: none) */
    byte next;
    bool flagged
};

slot q[RING];
byte tx_counter = RING;  /* ids begin behind a lap that counts as retired */
byte tx_min = RING;
byte red_head = 0;       /* an id, 0: none */
byte clock = 1;
/* What nobody reads but assertions. */
byte stamp_of[LAST];     /* of an id that has a stamp and is not retired, else 0 */
byte in_use[RING];       /* the id that has drawn the slot and has not left it, else 0 */
byte gone = 0;
/* Writers differ by nothing but their numbers: it is enough to look at the runs in which they draw their first ids in
 * the order of these. */
byte first_draws = 0;
#define is_my_turn (done > 0 || first_draws == self)
#ifndef WITHDRAWN
#define WITHDRAWN THREADS * EACH
#endif
byte withdrawn = 0;

#ifdef LINKS_WITHOUT_IDS
#define owner_is(link_owner, wanted) true
#else
#define owner_is(link_owner, wanted) (link_owner == wanted)
#endif

/* TxMin goes on over what is retired (step 14). */
inline advance_min() {
    do
    :: min_seen = tx_min;
       if
#ifdef MIN_IGNORES_IDS
       :: atomic { q[slot_of(min_seen)].state == RETIRED && min_seen < tx_counter -> skip }
#else
       :: atomic { q[slot_of(min_seen)].id == min_seen && q[slot_of(min_seen)].state == RETIRED -> skip }
#endif
          atomic { if :: tx_min == min_seen -> tx_min++ :: else fi }
       :: else -> break
       fi
    od;
    min_seen = 0
}

/* Steps 1 to 3: an id, while there is room in the ring, and its slot. */
inline draw() {
    do
#ifdef ID_BEFORE_ROOM
    :: atomic { is_my_turn; id = tx_counter; tx_counter++; first_draws = first_draws + (done == 0) };
       (id - tx_min < RING);
       atomic { assert(in_use[slot_of(id)] == 0); in_use[slot_of(id)] = id };
       break
#else
    :: id = tx_counter;
       atomic {
           if
#ifdef ROOM_NOT_AWAITED
           :: true -> skip
#else
#ifdef UNSIGNED_DISTANCE
           :: id >= tx_min && id - tx_min < RING -> skip
#else
           :: id < tx_min + RING -> skip
#endif
           :: else -> assert(tx_counter - tx_min >= RING); (tx_counter - tx_min < RING); goto again
#endif
           fi
       };
       atomic {
           if
           :: tx_counter == id && is_my_turn ->
              tx_counter++;
              first_draws = first_draws + (done == 0);
              assert(in_use[slot_of(id)] == 0);
              in_use[slot_of(id)] = id;
              break
           :: tx_counter != id
           fi
       };
       again: skip
#endif
    od;
    atomic { q[slot_of(id)].id = id; q[slot_of(id)].state = BLUE; assert(tx_min <= id) }
}

#define own q[slot_of(id)]

/* What the own link says before it is in the red queue: whose it is, and what comes behind. */
inline prepare_link(behind) {
    own.owner = id;
    own.next = behind;
    own.flagged = false
}

inline read_link(from) {
    l_owner = q[from].owner;
    l_next = q[from].next;
    l_flagged = q[from].flagged
}

#ifdef HINT_NOT_INSERTED
#define may_be_hint (q[slot_of(at)].id == at && at != id && q[slot_of(at)].state != RETIRED)
#else
#define may_be_hint (q[slot_of(at)].id == at && (q[slot_of(at)].state == RED || q[slot_of(at)].state == LOGGED))
#endif
#ifdef HINT_STAMP_UNCHECKED
#define is_hint (owner_is(l_owner, at) && !l_flagged)
#else
#define is_hint (owner_is(l_owner, at) && !l_flagged && other <= stamp)
#endif

/* A node of the red queue whose stamp is not larger, from the newest id down: a hint, checked (step 6). */
inline find_hint() {
    atomic { min_seen = tx_min; at = ends - 1 };
    do
    :: atomic { at >= min_seen && may_be_hint -> skip };
       other = q[slot_of(at)].stamp;
       atomic { read_link(slot_of(at)); if :: is_hint -> at = slot_of(at); goto from_node :: else -> at-- fi }
    :: atomic { at >= min_seen && !may_be_hint -> at-- }
    :: atomic { at < min_seen -> break }
    od
}

/* Steps 6 to 8: into the red queue behind all stamps that are not larger. `at` is an id up to from_node, behind it a
 * slot, in the red queue when its link was read. */
inline insert() {
    skip;
    restart:
    find_hint();
    atomic { at = red_head; if :: at == 0 -> goto into_empty :: else fi };
    atomic { other = q[slot_of(at)].stamp; if :: other > stamp -> goto in_front :: else fi };
    atomic {
        read_link(slot_of(at));
        if
        :: !owner_is(l_owner, at) -> goto restart
        :: owner_is(l_owner, at) && !l_flagged -> at = slot_of(at); goto from_node
        :: owner_is(l_owner, at) && l_flagged && l_next == slot_of(at) -> other = 0; goto unlink
        :: else
        fi
    };
    other = q[l_next].id;
    unlink:  /* the head is being retired: it leaves the list as by step 12 */
    atomic { if :: red_head == at -> red_head = other :: else fi; goto restart };

    into_empty:
    atomic { prepare_link(slot_of(id)) };
    atomic { if :: red_head == 0 -> red_head = id; goto inserted :: else -> goto restart fi };

    in_front:
    atomic { prepare_link(slot_of(at)) };
    atomic { if :: red_head == at -> red_head = id; goto inserted :: else -> goto restart fi };

    from_node:
    if
    :: atomic { l_next == at -> prepare_link(slot_of(id)); goto between }
    :: atomic { l_next != at -> other = q[l_next].stamp; if :: other > stamp -> goto prepare :: else fi }
    fi;
    atomic { m_owner = q[l_next].owner; m_next = q[l_next].next };
    atomic {
        if
        :: owner_is(q[at].owner, l_owner) && !q[at].flagged -> at = l_next; l_owner = m_owner; l_next = m_next
        :: else -> at = RETRY
        fi;
        m_owner = 0;
        m_next = 0;
        if :: at == RETRY -> goto restart :: else -> goto from_node fi
    };
    prepare:
    atomic { prepare_link(l_next) };
    between:
    atomic {
        if
        :: owner_is(q[at].owner, l_owner) && !q[at].flagged && q[at].next == l_next ->
           q[at].next = slot_of(id);
           goto inserted
        :: owner_is(q[at].owner, l_owner) && !q[at].flagged && q[at].next != l_next -> l_next = q[at].next; goto from_node
        :: else -> goto restart
        fi
    };
    inserted: skip
}

inline take_stamp() { atomic { stamp = clock; stamp_of[id] = clock; clock++ } }

proctype writer(byte self) {
    byte id, ends, stamp, at, other, l_owner, l_next, m_owner, m_next, min_seen, done;
    bool l_flagged;
    do
    :: done < EACH ->
       draw();
       if
       :: atomic { withdrawn < WITHDRAWN -> withdrawn++; own.state = RETIRED; in_use[slot_of(id)] = 0; gone++ };
          advance_min()  /* step 4: withdrawn without a stamp, never red */
       :: take_stamp();
#ifdef END_FROM_START
          ends = id + 1;
#else
          ends = tx_counter;
#endif
          atomic { own.stamp = stamp; own.ends = ends };  /* nobody reads the second yet */
#ifdef RED_BEFORE_INSERTION
          own.state = RED;
#endif
          insert();
#ifndef RED_BEFORE_INSERTION
          own.state = RED;
#endif
          own.state = LOGGED
       fi;
       atomic {
           done++; id = 0; ends = 0; stamp = 0; at = 0; other = 0; l_owner = 0; l_next = 0; l_flagged = 0; min_seen = 0
       }
    :: else -> break
    od
}

#ifdef BLUE_HEAD_IGNORES_IDS
#define passes_blue (q[slot_of(blue)].state == RED || q[slot_of(blue)].state == LOGGED || \
                     (q[slot_of(blue)].id == blue && q[slot_of(blue)].state == RETIRED))
#else
#define passes_blue (q[slot_of(blue)].id > blue || (q[slot_of(blue)].id == blue && q[slot_of(blue)].state != BLUE))
#endif
#ifdef PAYLOAD_NOT_AWAITED
#define is_logged(id_) (q[slot_of(id_)].id == id_ && (q[slot_of(id_)].state == RED || q[slot_of(id_)].state == LOGGED))
#else
#define is_logged(id_) (q[slot_of(id_)].id == id_ && q[slot_of(id_)].state == LOGGED)
#endif
#define head_is_due (red_head != 0 && is_logged(red_head) && q[slot_of(red_head)].ends <= blue)

/* What f does with a retired transaction: judges it. */
inline retire() {
    assert(stamp_of[head] != 0 && q[slot_of(head)].state == LOGGED);
    each = RING;
    do
    :: each < LAST -> assert(stamp_of[each] == 0 || stamp_of[each] >= stamp_of[head]); each++
    :: else -> break
    od;
    each = 0;
    stamp_of[head] = 0
}

inline clear() {
    q[slot_of(head)].id = head;
    q[slot_of(head)].state = RETIRED;
    if :: in_use[slot_of(head)] == head -> in_use[slot_of(head)] = 0 :: else fi;
    gone++
}

active proctype retirer() {
    byte blue = RING, head, min_seen, l_next, other, each;
    do
    :: gone == THREADS * EACH -> break
    /* A poll that finds nothing changes nothing: it waits instead, and an end that never comes is seen. */
    :: gone < THREADS * EACH && (passes_blue || head_is_due) ->
#ifdef RED_HEAD_FIRST
       head = red_head;
#endif
       do
       :: atomic { passes_blue -> blue++; assert(blue <= tx_counter) }
       :: atomic { !passes_blue -> break }
       od;
#ifndef RED_HEAD_FIRST
       head = red_head;
#endif
       if
       :: atomic { head != 0 && is_logged(head) && q[slot_of(head)].ends <= blue -> skip }
       :: atomic { head == 0 || !is_logged(head) || q[slot_of(head)].ends > blue -> goto nothing }
       fi;
       /* Step 12: the flag, behind which nobody inserts. */
       atomic {
#ifndef NOT_FLAGGED
           q[slot_of(head)].flagged = true;
#endif
           l_next = q[slot_of(head)].next;
           other = 0;
           if :: l_next == slot_of(head) -> goto unlink :: else fi
       };
       other = q[l_next].id;
       unlink:
       atomic { if :: red_head == head -> red_head = other :: else fi };
       atomic { retire() };
#ifdef LINKS_WITHOUT_IDS
       atomic { q[slot_of(head)].flagged = false; q[slot_of(head)].next = slot_of(head) };
#endif
#ifdef MIN_BEFORE_CLEARING
       atomic { if :: tx_min == head -> tx_min = head + 1 :: else fi };
#endif
       atomic { clear() };
       advance_min();
       nothing: atomic { head = 0; l_next = 0; other = 0 }
    od
}

init {
    byte each = 0;
    atomic {
        do
        :: each < RING ->
           q[each].id = each; q[each].state = RETIRED;
           q[each].owner = each; q[each].next = each; q[each].flagged = true;
           each++
        :: else -> break
        od;
        each = 0;
        do
        :: each < THREADS -> run writer(each); each++
        :: else -> break
        od;
        each = 0
    }
}
