//! Numbers in a shell: an arithmetic text with the variables that it names.

use super::engine::{Engine, UNK};
use super::state::Shell;
use super::{arith, words};

impl Engine<'_> {
    /// Works out an arithmetic text; `None` where it is not known.
    pub(crate) fn number(&mut self, sh: &mut Shell, text: &str) -> Option<i64> {
        let text = if text.contains(['$', '`']) {
            let parts = words::double_parts(text);
            self.text(sh, &parts)
        } else {
            text.to_owned()
        };
        if !self.spend(text.len() * 8) {
            return None;
        }
        let mut v = ShellVars { engine: self, sh };
        arith::eval(&text, &mut v, 0)
    }

    pub(super) fn number_text(&mut self, sh: &mut Shell, text: &str) -> String {
        self.number(sh, text).map_or_else(|| UNK.to_string(), |n| n.to_string())
    }
}

struct ShellVars<'e, 'a, 's> {
    engine: &'e mut Engine<'a>,
    sh: &'s mut Shell,
}

impl arith::Vars for ShellVars<'_, '_, '_> {
    fn get(&mut self, name: &str) -> Option<String> {
        let v = match name.split_once('[') {
            Some((n, i)) => {
                let p = super::syntax::Param { name: n.into(), index: Some(i.trim_end_matches(']').into()), ..Default::default() };
                match self.engine.parameter(self.sh, &p, true) {
                    super::param::Got::Text(t) => t,
                    _ => String::new(),
                }
            }
            None => self.engine.var(self.sh, name).unwrap_or_default(),
        };
        if v.contains(UNK) { None } else { Some(v) }
    }

    fn set(&mut self, name: &str, value: Option<i64>) {
        let text = value.map_or_else(|| UNK.to_string(), |v| v.to_string());
        if let Some((n, i)) = name.split_once('[') {
            self.engine.assign_at(self.sh, n, i.trim_end_matches(']'), text, false);
        } else {
            self.engine.assign(self.sh, name, text);
        }
    }
}
