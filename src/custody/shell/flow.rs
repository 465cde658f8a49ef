//! Lists, pipelines, conditions, loops, functions: the order in which a script runs.

use super::conditions::changes;
use super::engine::{Engine, MAX_DEPTH, UNK};
use super::state::{Fd, Flow, Shell};
use super::syntax::{Cmd, Then};

/// Most turns of one loop that are followed.
const MAX_TURNS: usize = 300;

impl Engine<'_> {
    /// Follows a command.
    pub(crate) fn run(&mut self, sh: &mut Shell, c: &Cmd) -> Flow {
        if !self.step() {
            return Flow::Exit;
        }
        if self.depth > MAX_DEPTH * 3 {
            self.unknown("nested too deep", "");
            return Flow::Exit;
        }
        self.depth += 1;
        let flow = self.run_inner(sh, c);
        if !sh.traps.is_empty()
            && flow == Flow::Next
            && sh.tested == 0
            && sh.status != Some(0)
            && matches!(c, Cmd::Simple { .. } | Cmd::Pipe(_) | Cmd::Subshell(_) | Cmd::Arith(_) | Cmd::Test(_))
        {
            self.fire(sh, "ERR", sh.status.is_some());
        }
        self.depth -= 1;
        flow
    }

    fn run_inner(&mut self, sh: &mut Shell, c: &Cmd) -> Flow {
        match c {
            Cmd::Simple { assigns, words, redirs } => {
                let flow = self.simple(sh, assigns, words, redirs);
                if flow == Flow::Next && sh.opts.errexit && sh.tested == 0 && sh.status.is_some_and(|s| s != 0) {
                    return Flow::Exit;
                }
                flow
            }
            Cmd::Lines(all) => {
                for c in all {
                    let flow = self.run(sh, c);
                    for (k, v) in std::mem::take(&mut sh.new_aliases) {
                        sh.aliases.insert(k, v);
                    }
                    if flow != Flow::Next {
                        return flow;
                    }
                }
                Flow::Next
            }
            Cmd::List(items) => self.list(sh, items),
            Cmd::Pipe(stages) => self.pipe(sh, stages),
            Cmd::If { cond, then, other } => {
                sh.tested += 1;
                let flow = self.run(sh, cond);
                sh.tested -= 1;
                if flow != Flow::Next {
                    return flow;
                }
                let yes = match sh.status {
                    Some(s) => s == 0,
                    None => self.decide(true, other.is_some() || changes(then)),
                };
                match (yes, other) {
                    (true, _) => self.run(sh, then),
                    (false, Some(o)) => self.run(sh, o),
                    (false, None) => {
                        sh.status = Some(0);
                        Flow::Next
                    }
                }
            }
            Cmd::While { cond, body, until } => self.repeat(sh, cond, body, *until),
            Cmd::For { var, words, body, select } => {
                let items = self.fields(sh, words);
                self.for_each(sh, var, items, body, *select)
            }
            Cmd::ForArith { init, cond, step, body } => {
                self.number(sh, init);
                for turn in 0..MAX_TURNS {
                    match if cond.trim().is_empty() { Some(1) } else { self.number(sh, cond) } {
                        Some(0) => break,
                        None if turn > 0 => break,
                        _ => {}
                    }
                    match self.turn(sh, body) {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(f) => return f,
                    }
                    self.number(sh, step);
                }
                Flow::Next
            }
            Cmd::Case { word, arms } => self.case(sh, word, arms),
            Cmd::Function { name, body } => {
                sh.funcs.insert(name.clone(), std::rc::Rc::clone(body));
                sh.status = Some(0);
                Flow::Next
            }
            Cmd::Subshell(body) => {
                let mut sub = self.subshell(sh);
                self.run(&mut sub, body);
                self.end(&mut sub);
                sh.status = sub.status;
                if sh.opts.errexit && sh.tested == 0 && sh.status.is_some_and(|s| s != 0) {
                    return Flow::Exit;
                }
                Flow::Next
            }
            Cmd::Coproc { name, body } => {
                let buf = self.buffer();
                let mut sub = self.subshell(sh);
                let id = self.stream(UNK.to_string());
                sub.set_fd(0, Fd::In(id));
                sub.set_fd(1, Fd::Buf(buf));
                self.run(&mut sub, body);
                self.end(&mut sub);
                let text = self.bufs.get(buf).cloned().unwrap_or_default();
                let id = self.stream(text);
                sh.set_fd(63, Fd::In(id));
                sh.set_fd(62, Fd::Null);
                self.set_list(sh, name, vec!["63".into(), "62".into()]);
                sh.status = Some(0);
                Flow::Next
            }
            Cmd::Arith(text) => {
                let v = self.number(sh, text);
                sh.status = v.map(|n| i32::from(n == 0));
                Flow::Next
            }
            Cmd::Test(t) => {
                sh.status = self.test(sh, t).map(|b| i32::from(!b));
                Flow::Next
            }
            Cmd::Not(inner) => {
                sh.tested += 1;
                let flow = self.run(sh, inner);
                sh.tested -= 1;
                sh.status = sh.status.map(|s| i32::from(s == 0));
                flow
            }
            Cmd::Redirected(inner, redirs) => {
                let saved = sh.fds.clone();
                let ok = self.redirect(sh, redirs);
                let flow = if ok {
                    self.run(sh, inner)
                } else {
                    sh.status = Some(1);
                    Flow::Next
                };
                sh.fds = saved;
                self.drain();
                flow
            }
            Cmd::Empty => Flow::Next,
        }
    }

    /// A copy for `( … )`, `$( … )`, a stage of a pipeline or a background job.
    pub(crate) fn subshell(&self, sh: &Shell) -> Shell {
        let mut sub = sh.clone();
        sub.trapped |= !sh.traps.is_empty();
        sub.traps.retain(|(name, _)| match name.as_str() {
            "DEBUG" | "RETURN" => sh.opts.functrace,
            "ERR" => sh.opts.errtrace,
            _ => false,
        });
        sub
    }

    fn list(&mut self, sh: &mut Shell, items: &[(Cmd, Then)]) -> Flow {
        let mut i = 0;
        while i < items.len() {
            let (c, then) = &items[i];
            let tested = matches!(then, Then::And | Then::Or);
            sh.tested += u32::from(tested);
            let flow = if *then == Then::Behind {
                let mut sub = self.subshell(sh);
                self.run(&mut sub, c);
                self.end(&mut sub);
                sh.status = Some(0);
                Flow::Next
            } else {
                self.run(sh, c)
            };
            sh.tested -= u32::from(tested);
            if flow != Flow::Next {
                return flow;
            }
            // what the operators let through next: `false && b || c` skips b and runs c
            let mut j = i;
            loop {
                let then = items[j].1;
                let runs = match (then, sh.status) {
                    (Then::Next | Then::Behind, _) => true,
                    (Then::And, Some(s)) => s == 0,
                    (Then::Or, Some(s)) => s != 0,
                    (_, None) => {
                        let Some(next) = items.get(j + 1) else { break };
                        let open = changes(&next.0) || next.1 == Then::Or || next.1 == Then::And && then == Then::Or;
                        let runs = self.decide(true, open);
                        if !runs {
                            // skipped: the status is the one that skips it
                            sh.status = Some(i32::from(then == Then::And));
                        }
                        runs
                    }
                };
                j += 1;
                if runs {
                    break;
                }
            }
            i = j.max(i + 1);
        }
        Flow::Next
    }

    fn pipe(&mut self, sh: &mut Shell, stages: &[Cmd]) -> Flow {
        let mut input: Option<usize> = None;
        for (n, stage) in stages.iter().enumerate() {
            let last = n + 1 == stages.len();
            let mut sub = self.subshell(sh);
            if let Some(id) = input {
                sub.set_fd(0, Fd::In(id));
            }
            if last {
                if sh.opts.lastpipe {
                    let saved = sh.fds.clone();
                    sh.fds = sub.fds;
                    let flow = self.run(sh, stage);
                    sh.fds = saved;
                    return flow;
                }
                self.run(&mut sub, stage);
                self.end(&mut sub);
                sh.status = sub.status;
            } else {
                let buf = self.buffer();
                sub.set_fd(1, Fd::Buf(buf));
                self.run(&mut sub, stage);
                self.end(&mut sub);
                let text = std::mem::take(&mut self.bufs[buf]);
                input = Some(self.stream(text));
            }
        }
        if sh.opts.errexit && sh.tested == 0 && sh.status.is_some_and(|s| s != 0) {
            return Flow::Exit;
        }
        Flow::Next
    }

    /// One turn of a loop's body: go on, stop, or leave.
    fn turn(&mut self, sh: &mut Shell, body: &Cmd) -> Result<bool, Flow> {
        sh.loops += 1;
        let flow = self.run(sh, body);
        sh.loops -= 1;
        match flow {
            Flow::Next | Flow::Continue(0 | 1) => Ok(true),
            Flow::Break(0 | 1) => Ok(false),
            Flow::Break(n) => Err(Flow::Break(n - 1)),
            Flow::Continue(n) => Err(Flow::Continue(n - 1)),
            f => Err(f),
        }
    }

    fn for_each(&mut self, sh: &mut Shell, var: &str, items: Vec<String>, body: &Cmd, select: bool) -> Flow {
        if select {
            let choice = self.line(sh, 0, '\n');
            let Some(choice) = choice else { return Flow::Next };
            self.assign(sh, "REPLY", choice.clone());
            let picked = choice.trim().parse::<usize>().ok().and_then(|n| items.get(n.wrapping_sub(1)).cloned());
            let picked: Vec<String> = match picked {
                Some(p) => vec![p],
                None if choice.contains(UNK) => items,
                None => vec![String::new()],
            };
            for p in picked {
                self.assign(sh, var, p);
                match self.turn(sh, body) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(f) => return f,
                }
            }
            return Flow::Next;
        }
        for (n, item) in items.into_iter().enumerate() {
            if n >= MAX_TURNS {
                self.unknown("a loop is too long to follow", var);
                break;
            }
            self.assign(sh, var, item);
            match self.turn(sh, body) {
                Ok(true) => {}
                Ok(false) => break,
                Err(f) => return f,
            }
        }
        Flow::Next
    }

    fn repeat(&mut self, sh: &mut Shell, cond: &Cmd, body: &Cmd, until: bool) -> Flow {
        let mut open = 0;
        for n in 0.. {
            if n >= MAX_TURNS {
                self.unknown("a loop is too long to follow", "");
                break;
            }
            sh.tested += 1;
            let going = self.turn(sh, cond);
            sh.tested -= 1;
            match going {
                Ok(true) => {}
                Ok(false) => break,
                Err(flow) => return flow,
            }
            match sh.status {
                Some(s) if (s == 0) == until => break,
                Some(_) => {}
                None if open > 0 => break,
                None => open += 1,
            }
            let acts = self.out.acts.len();
            match self.turn(sh, body) {
                Ok(true) => {}
                Ok(false) => break,
                Err(f) => return f,
            }
            // a loop that waits for something outside: nothing new comes of following it on
            if n > 60 && acts == self.out.acts.len() && matches!(cond, Cmd::Simple { words, .. } if words.len() == 1) {
                break;
            }
        }
        sh.status = Some(0);
        Flow::Next
    }
}
