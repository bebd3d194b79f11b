/*
 * Rented machines and the reaper that returns those nobody wants: the plane that rents, a
 * provider that answers late or twice, and a reaper that lists and compares.
 *
 * A machine's number stands for the token it is asked for with; none is used again. As in
 * claims.pml a message is a bit that may arrive at any time and any number of times; here
 * a late "create" can bring back a machine that was returned already: an orphan.
 *
 * Safety:   a leased machine is never reaped (REAPED): not while a listing is old, partial
 *           or slow, and not after the database was restored from a backup.
 * Liveness: in the end no machine is there that nobody wants (`tidy`, under weak fairness).
 *
 * Each of these takes one rule away and must fail:
 *   DATABASE_FIRST  the reaper reads the database before it lists the provider
 *   CREATE_FIRST    a machine is asked for before its row is written
 *   END_UNGUARDED   a row is ended without looking, in the same step, whether it is leased
 *   REAP_RESTORED   the reaper goes on after a restore, before leases were adopted
 *   NO_REAPER       nothing is reaped (fails `tidy`)
 */

#define MACHINES 2  /* sets of machines are bytes, a bit for each */
#define BIT(m) (1 << (m))

mtype = { NONE, WANTED, ENDED };
mtype row[MACHINES] = NONE;  /* the database */
byte leased;                 /* the truth: a tenant has it */
byte exists;                 /* at the provider */

byte create, destroy, reap;  /* messages to the provider */

byte lates = 1;              /* creates that still arrive after the machine was returned */
byte partials = 1;           /* listings that leave something out */
byte restores = 1;           /* of the database, from a backup that is older than any row */
bool dry;                    /* restored, and the leases are not adopted yet */
byte done;                   /* rows that had their turn */

#define FRESH (row[m] == NONE && !(done & BIT(m)))

proctype Renter(byte m) {
    bool idle;  /* it was seen without a lease */
end: do
#ifdef CREATE_FIRST
    :: d_step { FRESH && !(create & BIT(m)) -> create = create | BIT(m) }
    :: d_step { FRESH && (create & BIT(m)) -> row[m] = WANTED; done = done | BIT(m) }
#else
    :: d_step { FRESH -> row[m] = WANTED; done = done | BIT(m) }
    :: d_step { row[m] == WANTED && !(create & BIT(m)) -> create = create | BIT(m) }
#endif
    :: d_step { row[m] == WANTED && (exists & BIT(m)) && !(leased & BIT(m)) ->
        leased = leased | BIT(m)
       }
    :: d_step { leased & BIT(m) -> leased = leased & ~BIT(m) }
#ifdef END_UNGUARDED
    :: d_step { row[m] == WANTED && !(leased & BIT(m)) && !idle -> idle = true }
    :: d_step { row[m] == WANTED && idle -> row[m] = ENDED }
#else
    :: d_step { row[m] == WANTED && !(leased & BIT(m)) -> row[m] = ENDED }
#endif
    :: d_step { row[m] == ENDED && !(destroy & BIT(m)) -> destroy = destroy | BIT(m) }
    od
}

/* It makes and destroys what it is told to, whenever it gets to it. */
proctype Provider(byte m) {
    bool made;
end: do
    :: d_step { (create & BIT(m)) && !made -> made = true; exists = exists | BIT(m) }
    :: d_step { made && !(exists & BIT(m)) && lates > 0 -> lates--; exists = exists | BIT(m) }
    :: d_step { (destroy & BIT(m)) && (exists & BIT(m)) ->
        assert(!(leased & BIT(m)));        /* REAPED */
        exists = exists & ~BIT(m)
       }
    :: d_step { (reap & BIT(m)) && (exists & BIT(m)) ->
        assert(!(leased & BIT(m)));        /* REAPED */
        assert(row[m] != WANTED || dry);   /* REAPED: wanted, though not leased yet */
        exists = exists & ~BIT(m)
       }
    od
}

#define WANTS ((row[0] == WANTED) + 2 * (row[1] == WANTED))

/* Rows that a restored database does not know are adopted from what tenants truly have. */
active proctype Operator() {
end: do
    :: d_step { restores > 0 -> restores--; dry = true; row[0] = NONE; row[1] = NONE }
    :: d_step { dry ->
        if :: leased & BIT(0) -> row[0] = WANTED :: else fi;
        if :: leased & BIT(1) -> row[1] = WANTED :: else fi;
        dry = false
       }
    od
}

#ifndef NO_REAPER
active proctype Reaper() {
    byte listed, wanted;
    bool restored;
end: do
    :: true ->
#ifdef DATABASE_FIRST
        d_step { wanted = WANTS; restored = dry };
#endif
        if
        :: listed = exists
        :: d_step { partials > 0 -> partials--; listed = exists & BIT(0) }
        fi;
#ifndef DATABASE_FIRST
        d_step { wanted = WANTS; restored = dry };
#endif
#ifdef REAP_RESTORED
        restored = false;
#endif
        d_step {
            if :: !restored -> reap = reap | (listed & ~wanted) :: else fi;
            listed = 0; wanted = 0; restored = false
        }
    od
}
#endif

#define orphan (exists & ~WANTS)
ltl tidy { <>[] (orphan == 0) }

init { atomic { run Renter(0); run Renter(1); run Provider(0); run Provider(1) } }
