//! The only outward poll: outboxes are drained, and inboxes of armed bodies are looked into.
//!
//! It costs what is armed, not what exists: a body that nobody armed is not looked at.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::definition::Definition;
use super::fire::below;
use super::{Clock, Pending};
use crate::body::embody;
use crate::clock::job::{Action, Job};
use crate::clock::runs::Processes;
use crate::clock::wake::{self, Carried};
use crate::custody::find;
use crate::custody::maildir::Mailbox;
use crate::custody::outbox::{self, Drained};
use crate::sys::time::Moment;
use crate::sys::{disk, random, shown};

/// Called sooner than this it does nothing.
const INTERVAL: Duration = Duration::from_secs(5);
/// How often directories that an agent came to own are looked for.
const AGAIN: Duration = Duration::from_secs(600);

/// What is known of the inboxes of an armed body.
#[derive(Debug, Default)]
pub(super) struct Post {
    boxes: Vec<Mailbox>,
    /// When they were looked for.
    found: Option<Duration>,
    /// How they looked when nothing in them was new.
    quiet: Option<Vec<Look>>,
}

/// By what a changed inbox is told without reading it: its log, and its `new/`.
type Look = (u64, i128, i128);

fn look(mailbox: &Mailbox) -> Look {
    let log = disk::look(&mailbox.log_file()).ok().flatten();
    let new = disk::look(&mailbox.dir().join("new")).ok().flatten();
    (log.as_ref().map_or(0, |meta| meta.len), log.map_or(0, |meta| meta.mtime_ns), new.map_or(0, |meta| meta.mtime_ns))
}

impl<P: Processes> Clock<P> {
    /// Looks outside: mail that waits to be sent is sent, and mail that came wakes whom a person armed.
    pub fn perceive(&mut self, now: Moment) {
        if self.only.as_ref().is_some_and(|only| !only.starts_with(wake::PREFIX)) {
            return;
        }
        if self.perceived.is_some_and(|last| now.boot.saturating_sub(last) < INTERVAL) {
            return;
        }
        self.perceived = Some(now.boot);
        self.polls += 1;
        self.refresh_trust(now);
        let armed: Vec<(String, PathBuf)> = self.trust.wakes().iter().map(|(name, body)| (name.clone(), body.clone())).collect();
        let known = self.slots.range::<str, _>((Bound::Included(wake::PREFIX), Bound::Unbounded));
        let known = known.take_while(|(name, _)| name.starts_with(wake::PREFIX)).map(|(name, _)| name.clone());
        for name in known.filter(|name| !armed.iter().any(|(one, _)| **one == **name)).collect::<Vec<_>>() {
            self.posts.remove(&*name);
            self.remove(&name, now);
        }
        for (name, body) in armed {
            self.perceive_mail(&name, &body, now);
        }
        self.send_what_waits(now);
    }

    /// Sends what agents could not send from where they were: those that runs embody, and whoever lives at the root.
    fn send_what_waits(&mut self, now: Moment) {
        // Gathered once: this costs what is embodied, not what exists.
        let bodies = self.embodied.take().unwrap_or_else(|| {
            let bodies = self.slots.values().filter_map(|slot| slot.live()?.body.as_deref());
            bodies.map(Path::to_owned).collect()
        });
        for body in &bodies {
            if let Some(dir) = below(&self.root.dir, body) {
                self.drain(&dir, now);
            }
        }
        self.embodied = Some(bodies);
        self.drain(&self.root.dir.clone(), now);
    }

    /// Sends what waits in the outbox of a body.
    pub(super) fn drain(&mut self, dir: &Path, now: Moment) {
        let folder = dir.join(".loci/memory/outbox");
        // Nearly always there is nothing.
        match disk::list_at_most(&folder, 1) {
            Err(_) => return,
            Ok(Some(list)) if list.is_empty() => return,
            Ok(_) => {}
        }
        let Some(sender) = wake::sender(dir) else { return };
        let surroundings = match find::surroundings(&self.root.home, &self.root.user_home, &self.root.state) {
            Ok(surroundings) => surroundings,
            Err(error) => return self.say("outbox", format!("mail that waits is not sent: failed to {error}"), now),
        };
        let key = format!("outbox {}", dir.display());
        let mut waits = None;
        for drained in outbox::drain(&sender, &surroundings) {
            match drained {
                Drained::Delivered(delivery) => {
                    let id = delivery.outcome.as_ref().map(|filed| filed.id.clone()).unwrap_or_default();
                    let text = format!("delivered from the outbox of {}: {id} to {}", sender.name(), delivery.owner.who.name());
                    self.say(&format!("{key} {id}"), text, now);
                }
                Drained::Answered { id, to } => {
                    let text = format!("delivered from the outbox of {}: the answer {id} to {to}", sender.name());
                    self.say(&format!("{key} {id}"), text, now);
                }
                Drained::Dropped(why) => self.say(&key, format!("a message in the outbox of {} was dropped: {why}", sender.name()), now),
                Drained::Waits(why) => waits = Some(why),
            }
        }
        match waits {
            Some(why) => self.say(&key, format!("a message of {} can't be delivered, and waits: {why}", sender.name()), now),
            None => self.voice.over(&key),
        }
    }

    /// Looks into the inboxes of one armed body.
    fn perceive_mail(&mut self, name: &str, rel: &Path, now: Moment) {
        let key = format!("job {name}");
        let Some(dir) = below(&self.root.dir, rel) else {
            self.say(&key, format!("{name}: {} is no directory below the root", shown::path(rel)), now);
            self.remove(name, now);
            return;
        };
        let job = match wake::read(&self.root.dir, &dir) {
            Ok(job) => job.filter(|job| &*job.name == name),
            Err(error) => return self.say(&key, format!("{name}: failed to {error}"), now),
        };
        let Some(job) = job else {
            self.say(&key, format!("{name}: {} is no body of that id that mail may wake", shown::path(&dir)), now);
            self.remove(name, now);
            return;
        };
        if !self.trust.is_armed(&job, &self.root.dir) {
            let text = format!("{name}: its agent.md was edited; it is dormant until `loci jobs arm {name}`");
            self.say(&format!("{key} notice"), text, now);
        } else {
            self.voice.over(&format!("{key} notice"));
        }
        self.voice.over(&key);
        let job = self.wake_slot(name, job);
        let record = self.slots.get(name).map(|slot| &slot.record);
        let busy =
            self.only.is_some() || self.slots.get(name).is_none_or(|slot| slot.record.past.running.is_some() || !slot.waiting.is_empty());
        if busy || !self.trust.is_armed(&job, &self.root.dir) {
            return;
        }
        let day = job.zone.to_datetime(now.wall).date();
        if job.max_per_day.is_some_and(|most| record.map_or(0, |record| record.runs_on(day)) >= most) {
            let most = job.max_per_day.unwrap_or_default();
            return self.say(
                &format!("budget {name}"),
                format!("{name}: the budget of {day} is used up: {}", crate::sys::shown::count(most, "run a day", "runs a day")),
                now,
            );
        }
        let Action::Wake { agent, .. } = &job.action else { return };
        let (root, mut post) = (self.root.dir.clone(), self.posts.remove(name).unwrap_or_default());
        if post.found.is_none_or(|found| now.boot.saturating_sub(found) >= AGAIN) {
            (post.boxes, post.found, post.quiet) = (wake::boxes(&root, &dir, agent), Some(now.boot), None);
        }
        let looks: Vec<Look> = post.boxes.iter().map(look).collect();
        if post.quiet.as_ref() != Some(&looks) && self.wants_to_wake(name, &post.boxes, now) {
            // Whoever embodies it now may deal with the mail; it is looked at again afterwards.
            let embodied = embody::holders(&self.root.state, &dir).is_ok_and(|(holders, _)| !holders.is_empty());
            if !embodied && let Some(slot) = self.slots.get_mut(name) {
                slot.waiting.push_back(Pending { instant: now.wall, attempt: 0, since: now.boot, late: false, queued: false });
                self.busy.insert(name.into());
            }
        } else {
            post.quiet = Some(looks);
        }
        self.posts.insert(name.to_owned(), post);
    }

    /// The definition of a wake comes into force.
    fn wake_slot(&mut self, name: &str, job: Job) -> Arc<Job> {
        let slot = self.slots.entry(name.into()).or_default();
        slot.record.gone = None;
        self.embodied = None;
        match slot.job.as_ref().and_then(|known| known.job(name)) {
            Some(known) if *known == job => known,
            _ => {
                let job = Arc::new(job);
                slot.job = Some(Definition::whole(Arc::clone(&job)));
                job
            }
        }
    }

    /// Whether there is mail that nobody was woken for; what went through too many hands goes to the human.
    fn wants_to_wake(&mut self, name: &str, boxes: &[Mailbox], now: Moment) -> bool {
        let (mail, notes) = wake::new_mail(boxes);
        let key = format!("mail {name}");
        match notes.first() {
            Some(note) => self.say(&key, format!("{name}: {note}"), now),
            None => self.voice.over(&key),
        }
        let far = wake::to_human(&mail, &self.root.home, now.wall).unwrap_or_else(|error| {
            self.say(&format!("{key} human"), format!("{name}: mail for the human waits: failed to {error}"), now);
            Vec::new()
        });
        let Some(slot) = self.slots.get(name) else { return false };
        mail.iter().any(|(_, one)| !slot.record.past.woken.contains(&one.key) && !far.contains(&one.key))
    }

    /// What a wake hands over now; `None` where nothing waits any more.
    pub(super) fn carried(&self, name: &str, agent: &str, dir: &Path) -> Result<Option<Carried>, String> {
        let boxes = self.posts.get(name).map_or_else(|| wake::boxes(&self.root.dir, dir, agent), |post| post.boxes.clone());
        let tag = random::hex20().map_err(|error| error.to_string())?;
        let woken = self.slots.get(name).map(|slot| slot.record.past.woken.as_slice()).unwrap_or_default();
        Ok(wake::carry(&wake::new_mail(&boxes).0, woken, agent, &tag))
    }
}
