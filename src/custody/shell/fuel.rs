//! The one work budget of a reading. Every part counts it down: commands followed, text expanded, patterns matched,
//! scripts parsed, questions to the disk. When it is used up the answer is *can't know*, with the writes that were found
//! until then; never a silent "writes nothing".
//!
//! It is kept by thread, since a reading stays on one, and since the matchers deep down are plain functions.

use std::cell::Cell;

/// What one reading may use. A unit is about ten nanoseconds of a release build, so all of it is about twenty milliseconds.
/// Time that git or an unpacking program takes is bounded apart from it, by whoever starts them.
pub(crate) const BUDGET: u64 = 2 << 20;

thread_local! {
    static USED: Cell<u64> = const { Cell::new(0) };
    static DOUBT: Cell<bool> = const { Cell::new(false) };
}

/// Starts a reading.
pub(crate) fn start() {
    USED.with(|used| used.set(0));
    DOUBT.with(|doubt| doubt.set(false));
}

/// Uses some of it for what is about to be done; false where there is not so much left: then it must not be done.
pub(crate) fn spend(units: usize) -> bool {
    USED.with(|used| {
        let now = used.get().saturating_add(units as u64);
        used.set(if now > BUDGET { used.get().max(BUDGET + 1) } else { now });
        now <= BUDGET
    })
}

/// Uses some of it for what has been done.
pub(crate) fn did(units: usize) {
    USED.with(|used| used.set(used.get().saturating_add(units as u64)));
}

/// Whether so much is left.
pub(crate) fn has(units: usize) -> bool {
    used().saturating_add(units as u64) <= BUDGET
}

/// A matcher gave up: its "no" is none.
pub(crate) fn doubt() {
    DOUBT.with(|doubt| doubt.set(true));
}

/// Whether a matcher gave up.
pub(crate) fn doubted() -> bool {
    DOUBT.with(Cell::get)
}

/// How much has been used.
pub(crate) fn used() -> u64 {
    USED.with(Cell::get)
}

/// Whether there is none left.
pub(crate) fn empty() -> bool {
    used() > BUDGET
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_gone() {
        start();
        assert!(spend(10) && !empty());
        assert!(has(5) && !has(usize::try_from(BUDGET).unwrap()));
        assert!(!spend(usize::try_from(BUDGET).unwrap()) && empty());
        did(100);
        assert_eq!(used(), BUDGET + 101);
        doubt();
        assert!(doubted());
        start();
        assert!(used() == 0 && !doubted());
    }
}
