//! What starts the clock with the machine: a user unit of systemd, an agent of launchd, a line for cron. Texts only.
//!
//! In each of them runs outlive the clock: only its own process is ended with it.

/// How the clock is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    /// The program, absolute.
    pub program: &'a str,
    /// The roots; none: those that are enrolled.
    pub roots: &'a [String],
    /// The variables that it needs, since none of a shell's are there.
    pub vars: &'a [(&'static str, String)],
}

/// The name of the unit, and of its file.
pub const UNIT: &str = "loci-clock.service";
/// The name of the agent, and of its file.
pub const AGENT: &str = "dev.loci.clock";
/// What a line of a crontab that is ours ends with.
pub const MARK: &str = "# loci clock";

impl Call<'_> {
    fn words(&self) -> impl Iterator<Item = &str> {
        [self.program, "clock", "run"].into_iter().chain(self.roots.iter().map(String::as_str))
    }

    /// The user unit of systemd.
    #[must_use]
    pub fn systemd(&self) -> String {
        let words: Vec<String> = self.words().map(|word| quoted(word, true)).collect();
        let vars: String =
            self.vars.iter().map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"), false))).collect();
        format!(
            "[Unit]\nDescription=loci clock: runs what is due\n\n\
             [Service]\nExecStart={}\n{vars}Restart=on-failure\nRestartSec=5\n# Runs outlive the clock; the next one takes them up.\nKillMode=process\n\n\
             [Install]\nWantedBy=default.target\n",
            words.join(" ")
        )
    }

    /// The agent of launchd.
    #[must_use]
    pub fn launchd(&self, log: &str) -> String {
        let text = |value: &str| format!("<string>{}</string>", escaped(value));
        let words: String = self.words().map(|word| format!("    {}\n", text(word))).collect();
        let vars: String =
            self.vars.iter().map(|(name, value)| format!("    <key>{}</key>\n    {}\n", escaped(name), text(value))).collect();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  {}\n  <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n\
             \x20 <key>EnvironmentVariables</key>\n  <dict>\n{vars}  </dict>\n  <key>RunAtLoad</key>\n  <true/>\n\
             \x20 <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
             \x20 <key>AbandonProcessGroup</key>\n  <true/>\n  <key>StandardErrorPath</key>\n  {}\n</dict>\n</plist>\n",
            text(AGENT),
            text(log)
        )
    }

    /// The line for a crontab.
    #[must_use]
    pub fn cron(&self) -> String {
        let vars = self.vars.iter().map(|(name, value)| format!("{name}={}", for_shell(value)));
        let words: Vec<String> = vars.chain(self.words().map(for_shell)).collect();
        // A percent sign is the end of a line to cron.
        format!("@reboot {} >/dev/null 2>&1 {MARK}", words.join(" ")).replace('%', "\\%")
    }
}

/// A crontab with our line in the place of the one that was there, or without it; all else stays as it is.
#[must_use]
pub fn crontab(before: &str, line: Option<&str>) -> String {
    let mut lines: Vec<&str> = before.lines().filter(|one| !one.trim_end().ends_with(MARK)).collect();
    lines.extend(line);
    if lines.is_empty() { String::new() } else { format!("{}\n", lines.join("\n")) }
}

/// A word as systemd reads it. In a command a dollar is the beginning of a variable.
fn quoted(word: &str, command: bool) -> String {
    let mut out = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '%' => out.push_str("%%"),
            '$' if command => out.push_str("$$"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn for_shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '=' | ':' | ',' | '+' | '@');
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_characters_stay_what_they_are() {
        let roots = ["/home/a b/it's 100% $HOME & \"x\"".to_owned()];
        let vars = [("PATH", "/usr/bin:/opt/50%".to_owned())];
        let call = Call { program: "/usr/bin/loci", roots: &roots, vars: &vars };
        let unit = call.systemd();
        assert!(
            unit.contains(r#""/home/a b/it's 100%% $$HOME & \"x\"""#) && unit.contains(r#"Environment="PATH=/usr/bin:/opt/50%%""#),
            "{unit}"
        );
        let agent = call.launchd("/x/log");
        assert!(agent.contains("100% $HOME &amp; \"x\"</string>"), "{agent}");
        let line = call.cron();
        assert!(line.starts_with("@reboot PATH='/usr/bin:/opt/50\\%' /usr/bin/loci clock run ") && line.ends_with(MARK), "{line}");
        assert!(line.contains(r#"'/home/a b/it'\''s 100\% $HOME & "x"'"#), "{line}");
    }

    #[test]
    fn a_crontab_keeps_what_is_others() {
        let theirs = "MAILTO=x\n0 5 * * * true\n";
        let with = crontab(theirs, Some("@reboot x # loci clock"));
        assert_eq!(with, format!("{theirs}@reboot x # loci clock\n"));
        assert_eq!(crontab(&with, Some("@reboot x # loci clock")), with);
        assert_eq!(crontab(&with, None), theirs);
        assert_eq!(crontab("", None), "");
    }
}
