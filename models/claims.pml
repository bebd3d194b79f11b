/*
 * Claim, release, cleanup proof: central, site and agent, and a network that does anything.
 *
 * The network. A message is a bit: once sent it may arrive at any time, in any order, any
 * number of times, or never. So nothing here depends on feeds being ordered or told once.
 *
 * The world. `users` is who truly has a slot, `dirt` whose data is on it. Central can see
 * neither; every assertion is about them.
 *
 * Safety:   a slot is never in two tenants' hands (TWO TENANTS);
 *           nobody gets a slot with another's data on it (NOT CLEAN);
 *           no cleanup touches a slot that another tenant has (WIPED).
 * Liveness: every run that goes on as long as it can ends with every lease freed (STUCK).
 *           Faults are bounded, so such runs end, and no fairness has to be assumed.
 *
 * Each of these takes one rule away and must make an assertion fail:
 *   NO_FENCE        the agent does not compare fences
 *   NO_CLOSE        the agent does not close a fence when it is released
 *   NO_STOP         a release does not stop the provisioning that is under way
 *   LANE_PER_LEASE  an order waits for orders of its own lease only, not of its slots
 *   NO_PROOF        central frees a slot because it asked for its cleanup
 *   NO_NONCE        central takes any proof of this claim: an old one can be replayed
 *   UNDO_PROVES     central takes the proof of an undo, whose nonce is the site's own
 *   NO_RETRY        nobody cleans again after a cleanup that did not work
 *
 * Not modelled: signatures (nobody forges), deadlines, and the loss of an agent's journal:
 * an agent that forgot its fences is not safe by this protocol alone.
 */

#define LEASES 3
#define ASKS 2     /* how often central may ask for the cleanup of one lease */
#define UNDO 0     /* the nonce of an undo; central's own are 1, 2, … */
#define HANDS 9    /* dirt left by whoever repaired a blocked slot */
#ifndef FAILURES
#define FAILURES 1
#define REPEATS 1
#endif

/* Two slots. Leases 0 and 2 take both (the whole node), lease 1 a slice of it. */
#define NEEDS(l, s) ((s) == 0 || (l) != 1)
#define BOTH(fact) (fact(0) && fact(1))
#define BIT(n) (1 << (n))
#define AT(l, s) ((l) * 2 + (s))

/* Central. The revision of a lease is 1 + ask. A lease claims once, so it has one fence
   for each slot, and an ask is known by its number. */
mtype = { NEW, HELD, ASKED, FREED };
mtype stage[LEASES] = NEW;
byte holder[2];                    /* lease + 1; 0: free */
byte fence[2];                     /* of the slot's last claim; all that counts is that it grows */
byte claim[LEASES * 2];            /* the fence of this lease's claim of a slot */
byte ask[LEASES];                  /* the nonce that was asked for last */
byte covers[LEASES * (ASKS + 1)];  /* the slots that an ask is about, a bit for each */

/* Messages. Documents need none: what central has decided may arrive from then on. */
bool provision[LEASES];
byte release[LEASES];              /* a bit for each nonce */
byte proof[LEASES * 2];            /* a bit for each nonce */
bool blocked[LEASES];              /* a cleanup did not work */

/* Agent. */
byte seen[2];                      /* the highest fence */
bool closed[2];
bool provisioning[LEASES];
byte cleaning[LEASES];             /* nonce + 1; 0: not cleaning */

/* The world. */
byte users[2];                     /* a bit for each lease */
byte dirt[2];                      /* lease + 1, or HANDS; 0: clean */

/* What may still go wrong. */
byte failures = FAILURES;          /* cleanups that do not work */
byte repeats = REPEATS;            /* cleanups that are done again though they were proven */

/* ------------------------------------------------------------------ central */

#define PLACEABLE(s) (!NEEDS(l, s) || holder[s] == 0)

inline take(s) {
    if
    :: NEEDS(l, s) -> fence[s]++; claim[AT(l, s)] = fence[s]; holder[s] = l + 1
    :: else
    fi
}

#define COVERED covers[l * (ASKS + 1) + ask[l]]

/* A new revision with a fresh nonce, for the slots that are still held. */
inline ask_cleanup() {
    stage[l] = ASKED;
    ask[l]++;
    COVERED = (holder[0] == l + 1) + 2 * (holder[1] == l + 1)
}

/* Cleanup is blocked, and someone has hands on the machine before it is asked for again. */
inline repair() {
    if :: holder[0] == l + 1 -> dirt[0] = HANDS :: else fi;
    if :: holder[1] == l + 1 -> dirt[1] = HANDS :: else fi
}

#ifdef NO_NONCE
#define ANSWERS(n) ((n) != UNDO)
#else
#ifdef UNDO_PROVES
#define ANSWERS(n) ((n) == ask[l] || (n) == UNDO)
#else
#define ANSWERS(n) ((n) == ask[l])
#endif
#endif

#ifdef NO_PROOF
#define PROVEN(s) true
#else
#define PROOF(s, n) ((proof[AT(l, s)] & BIT(n)) && ANSWERS(n))
#define PROVEN(s) (PROOF(s, 0) || PROOF(s, 1) || PROOF(s, 2))
#endif

#define FREEABLE(s) \
    (stage[l] == ASKED && holder[s] == l + 1 && claim[AT(l, s)] == fence[s] && PROVEN(s))

inline free(s) {
    holder[s] = 0;
    if
    :: holder[0] != l + 1 && holder[1] != l + 1 -> stage[l] = FREED
    :: else
    fi
}

/* One process for each lease; what leases share is global. */
proctype Central(byte l) {
end: do
    :: d_step { stage[l] == NEW && BOTH(PLACEABLE) -> take(0); take(1); stage[l] = HELD }
    :: d_step { stage[l] == HELD -> ask_cleanup() }
    :: d_step { stage[l] == ASKED && blocked[l] && ask[l] < ASKS -> ask_cleanup() }
    :: d_step { stage[l] == ASKED && blocked[l] && ask[l] < ASKS -> repair(); ask_cleanup() }
    :: d_step { FREEABLE(0) -> free(0) }
    :: d_step { FREEABLE(1) -> free(1) }
    od
}

/* --------------------------------------------------------------------- site */

#define NEWEST(k) (release[l] < BIT((k) + 1))

/* A document arrives, and its task goes out. Only a newer document than the last counts.
   What was sent is also what is known: bit k of release is revision 1 + k. */
proctype Site(byte l) {
end: do
    :: d_step { stage[l] != NEW && !provision[l] && NEWEST(0) -> provision[l] = true }
    :: d_step { ask[l] >= 1 && NEWEST(0) -> release[l] = release[l] | BIT(1) }
    :: d_step { ask[l] >= 2 && NEWEST(1) -> release[l] = release[l] | BIT(2) }
    /* It gives up on provisioning, for whatever reason, and takes back what was begun. */
    :: d_step { provision[l] && !(release[l] & BIT(UNDO)) -> release[l] = release[l] | BIT(UNDO) }
    od
}

/* -------------------------------------------------------------------- agent */

/* Whether order n is about slot s. An undo is about all that was claimed. */
#define ABOUT(n, s) (((n) == UNDO && NEEDS(l, s)) || (covers[l * (ASKS + 1) + (n)] & BIT(s)))

#ifdef NO_FENCE
#define ADMITTED(s, releases) true
#else
/* Fences are unique per slot, so an equal one is of the same lease. */
#define ADMITTED(s, releases) \
    (claim[AT(l, s)] > seen[s] || (claim[AT(l, s)] == seen[s] && (releases || !closed[s])))
#endif

/* Whether nothing is under way on the slot for another lease. */
#ifdef LANE_PER_LEASE
#define ALONE(s) true
#else
#define BUSY(o, s) (l != o && NEEDS(o, s) && (provisioning[o] || cleaning[o]))
#define ALONE(s) (!BUSY(0, s) && !BUSY(1, s) && !BUSY(2, s))
#endif

#define GIVEABLE(s) (!NEEDS(l, s) || (ADMITTED(s, false) && ALONE(s)))
#define HAS (users[0] & BIT(l))
#define CLEANABLE(n, s) (!ABOUT(n, s) || (ADMITTED(s, true) && ALONE(s)))
#define UNPROVEN(n, s) (ABOUT(n, s) && !(proof[AT(l, s)] & BIT(n)))
#define RELEASABLE(n) \
    ((release[l] & BIT(n)) && !cleaning[l] && CLEANABLE(n, 0) && CLEANABLE(n, 1))
#define OPEN(n) (UNPROVEN(n, 0) || UNPROVEN(n, 1))

inline enforce(s, closing) {
    seen[s] = claim[AT(l, s)];
    closed[s] = closing
}

inline admit_provision() {
    provisioning[l] = true;
    enforce(0, false);
    if :: NEEDS(l, 1) -> enforce(1, false) :: else fi
}

#ifdef NO_CLOSE
#define CLOSING false
#else
#define CLOSING true
#endif

inline admit_release(n) {
#ifndef NO_STOP
    provisioning[l] = false;
#endif
    cleaning[l] = n + 1;
    if :: ABOUT(n, 0) -> enforce(0, CLOSING) :: else fi;
    if :: ABOUT(n, 1) -> enforce(1, CLOSING) :: else fi
}

inline give(s) {
    assert((users[s] & ~BIT(l)) == 0);         /* TWO TENANTS */
    assert(dirt[s] == 0 || dirt[s] == l + 1);  /* NOT CLEAN */
    users[s] = users[s] | BIT(l);
    dirt[s] = l + 1
}

#define NONCE (cleaning[l] - 1)

/* The tenant's runtime is destroyed first; erasing may fail after that. An operator asks
   again until it works, so what was asked last does not fail for ever. */
inline wipe(s) {
    if
    :: ABOUT(NONCE, s) ->
        assert((users[s] & ~BIT(l)) == 0);     /* WIPED */
        users[s] = users[s] & ~BIT(l);
        if
        :: dirt[s] = 0; proof[AT(l, s)] = proof[AT(l, s)] | BIT(NONCE)
        :: failures > 0 && NONCE < ASKS -> failures--; blocked[l] = true
        fi
    :: else
    fi
}

#ifdef NO_RETRY
#define AGAIN (failures > 0)
#else
#define AGAIN true
#endif

proctype Agent(byte l) {
end: do
    :: d_step { provision[l] && !provisioning[l] && !cleaning[l] && !HAS && BOTH(GIVEABLE) ->
        admit_provision()
       }
    :: d_step { provisioning[l] ->
        give(0);
        if :: NEEDS(l, 1) -> give(1) :: else fi;
        provisioning[l] = false
       }
    :: d_step { RELEASABLE(0) && OPEN(0) && AGAIN -> admit_release(0) }
    :: d_step { RELEASABLE(1) && OPEN(1) && AGAIN -> admit_release(1) }
    :: d_step { RELEASABLE(2) && OPEN(2) && AGAIN -> admit_release(2) }
    :: d_step { RELEASABLE(0) && repeats > 0 -> repeats--; admit_release(0) }
    :: d_step { RELEASABLE(1) && repeats > 0 -> repeats--; admit_release(1) }
    :: d_step { RELEASABLE(2) && repeats > 0 -> repeats--; admit_release(2) }
    :: atomic { cleaning[l] -> wipe(0); wipe(1); cleaning[l] = 0 }
    od
}

/* ----------------------------------------------------------------- liveness */

init {
    atomic {
        run Central(0); run Central(1); run Central(2);
        run Site(0); run Site(1); run Site(2);
        run Agent(0); run Agent(1); run Agent(2)
    };
    timeout ->
    assert(stage[0] == FREED && stage[1] == FREED && stage[2] == FREED)  /* STUCK */
}
