//! What the end of a turn means for a loop, and what comes after it: functions of plain values.

use super::{Definition, Next};

/// What the predicate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It holds, and what has to be left behind is there.
    Met,
    /// It does not.
    NotYet,
    /// It raised, could cost too much, or something is not there: not yet, and why.
    Unclear(String),
}

/// What is known at the end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The harness lets a stop be blocked: then its prompt goes in by that.
    pub can_block: bool,
    /// It is armed as it was when it was started.
    pub armed: bool,
    /// A person is active in its terminal.
    pub human: bool,
    /// How many rounds it had today.
    pub rounds_today: u32,
}

/// What happens then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is done.
    Done,
    /// It ends all the same, for this reason.
    Stop(String),
    /// The stop is blocked with the prompt: the next round.
    Block,
    /// The prompt is delivered by the clock: the next round.
    Deliver,
}

/// Decides at the end of a turn in its `round`, from 1.
#[must_use]
pub fn turn_over(definition: &Definition, round: u32, exit: &Exit, facts: Facts) -> Step {
    if *exit == Exit::Met {
        return Step::Done;
    }
    match limit(definition, round, facts.armed, facts.rounds_today) {
        Some(why) => Step::Stop(why),
        // Who types goes first: the prompt comes when they are gone.
        None if facts.can_block && !facts.human => Step::Block,
        None => Step::Deliver,
    }
}

/// Why there is no further round.
#[must_use]
pub fn limit(definition: &Definition, round: u32, armed: bool, rounds_today: u32) -> Option<String> {
    let Definition { max_rounds, max_per_day, .. } = definition;
    if !armed {
        return Some("it is not armed as it is".to_owned());
    }
    if round >= *max_rounds {
        return Some(format!("max_rounds: it had {round} rounds, and is not done"));
    }
    (rounds_today >= *max_per_day).then(|| format!("max_per_day: it had {rounds_today} rounds today, and is not done"))
}

/// What comes after a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// Nothing; why, where that is not what its file says.
    Stop(Option<String>),
    /// That loop; what is to be said about it.
    Loop(String, Option<String>),
    /// What a command says.
    Ask(String),
}

/// Chooses what comes after the loop `name`. `may` says whether there is a loop of a name that may run.
#[must_use]
pub fn next(next: &Next, name: &str, order: &[String], may: &dyn Fn(&str) -> bool) -> Pick {
    let at = order.iter().position(|one| one == name);
    let behind = |around: bool| -> Option<String> {
        let at = at?;
        let rest = order.iter().skip(at + 1);
        if around {
            rest.chain(order.iter().take(at + 1)).find(|one| may(one)).cloned()
        } else {
            rest.clone().find(|one| may(one)).cloned()
        }
    };
    let unknown = || at.is_none().then(|| format!("{name} does not stand in loops/order.yaml"));
    let advance = |around: bool, said: Option<String>| match behind(around) {
        Some(next) => Pick::Loop(next, said),
        None => Pick::Stop(said.or_else(unknown)),
    };
    match next {
        Next::Stop => Pick::Stop(None),
        Next::Index => advance(false, None),
        Next::Cycle => advance(true, None),
        Next::Named(wanted) if may(wanted) => Pick::Loop(wanted.clone(), None),
        Next::Named(wanted) => advance(false, Some(format!("no loop `{wanted}` may run; the order goes on"))),
        Next::Run(line) => Pick::Ask(line.clone()),
    }
}

/// What the command that was asked has said.
pub fn answered(exit: Option<i32>, said: &str, may: &dyn Fn(&str) -> bool) -> Result<Pick, String> {
    if exit != Some(0) {
        return Err(exit.map_or_else(|| "next: its command was ended".to_owned(), |code| format!("next: its command ended with {code}")));
    }
    match said.lines().map(str::trim).find(|line| !line.is_empty()) {
        None | Some("stop") => Ok(Pick::Stop(None)),
        Some(name) if may(name) => Ok(Pick::Loop(name.to_owned(), None)),
        Some(name) => Err(format!("next: its command names `{}`, and no such loop may run", name.chars().take(100).collect::<String>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Facts = Facts { can_block: true, armed: true, human: false, rounds_today: 3 };

    #[test]
    fn the_end_of_a_turn() {
        let one = Definition { max_rounds: 20, max_per_day: 24, ..Definition::default() };
        assert_eq!(turn_over(&one, 3, &Exit::NotYet, FINE), Step::Block);
        assert_eq!(turn_over(&one, 3, &Exit::Unclear("no such key".into()), FINE), Step::Block, "what raises is not yet");
        assert_eq!(turn_over(&one, 3, &Exit::NotYet, Facts { can_block: false, ..FINE }), Step::Deliver);
        assert_eq!(turn_over(&one, 3, &Exit::NotYet, Facts { human: true, ..FINE }), Step::Deliver);
        assert_eq!(turn_over(&one, 20, &Exit::Met, FINE), Step::Done, "done in the last round is done");
        for (round, facts, word) in [
            (20, FINE, "max_rounds"),
            (21, FINE, "max_rounds"),
            (3, Facts { armed: false, ..FINE }, "armed"),
            (3, Facts { rounds_today: 24, ..FINE }, "max_per_day"),
        ] {
            assert!(matches!(turn_over(&one, round, &Exit::NotYet, facts), Step::Stop(why) if why.contains(word)), "{word}");
        }
    }

    #[test]
    fn what_comes_next() {
        let order: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let may = |name: &str| name != "c" && name.len() == 1;
        let pick = |what: Next, name: &str| next(&what, name, &order, &may);
        let go = |name: &str| Pick::Loop(name.to_owned(), None);
        assert_eq!(pick(Next::Stop, "a"), Pick::Stop(None));
        assert_eq!(pick(Next::Index, "a"), go("b"));
        assert_eq!(pick(Next::Index, "b"), go("d"), "one that may not run is passed over");
        assert_eq!(pick(Next::Index, "d"), Pick::Stop(None));
        assert_eq!(pick(Next::Cycle, "d"), go("a"));
        assert_eq!(next(&Next::Cycle, "c", &["c".to_owned()], &|_| true), go("c"), "one alone goes round by itself");
        assert_eq!(next(&Next::Cycle, "c", &["c".to_owned()], &|_| false), Pick::Stop(None));
        assert_eq!(pick(Next::Named("d".into()), "a"), go("d"));
        assert!(matches!(pick(Next::Named("gone".into()), "a"), Pick::Loop(name, Some(said)) if name == "b" && said.contains("gone")));
        assert!(matches!(pick(Next::Named("gone".into()), "d"), Pick::Stop(Some(_))));
        assert!(matches!(pick(Next::Index, "x"), Pick::Stop(Some(said)) if said.contains("order.yaml")));
        assert_eq!(pick(Next::Run("./next".into()), "a"), Pick::Ask("./next".into()));
    }

    #[test]
    fn what_a_command_says_comes_next() {
        let may = |name: &str| name == "b";
        assert_eq!(answered(Some(0), "\n b \nx", &may), Ok(Pick::Loop("b".into(), None)));
        assert_eq!((answered(Some(0), "", &may), answered(Some(0), "stop", &may)), (Ok(Pick::Stop(None)), Ok(Pick::Stop(None))));
        for (exit, said) in [(Some(3), "b"), (None, "b"), (Some(0), "other")] {
            assert!(answered(exit, said, &may).is_err(), "a failed transition stops");
        }
    }
}
