//! The tracker as a stop asks it: from memory while its token is the same, afresh, and a second
//! time where the first answer is none.

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::{fault, left};
use crate::edge::tracker::{self, List, Memory, Patience, Tracker, WhenLate};
use crate::kernel::moment::Moment;
use crate::kernel::snapshot::{Fault, Sensor};
use crate::kernel::task::{Epic, TaskId};

/// A tracker that failed is asked once more after this long: a file that is just being replaced
/// is whole again by then.
const RETRY_PAUSE: Duration = Duration::from_millis(60);

/// A tracker, what is remembered of its last answer, and what to remember of the next one.
pub struct Tasks {
    tracker: Result<Arc<dyn Tracker>, Fault>,
    last: Option<Memory>,
    next: OnceLock<Memory>,
}

impl Tasks {
    pub fn of(tracker: Result<Arc<dyn Tracker>, Fault>, last: Option<Memory>) -> Tasks {
        Tasks {
            tracker,
            last,
            next: OnceLock::new(),
        }
    }

    /// The epic: remembered if nothing has changed, else read.
    pub fn epic(&self, id: &TaskId, now: Moment, deadline: Instant) -> Result<Epic, Fault> {
        match self.remembered(id, now) {
            Some(epic) => Ok(epic),
            None => self.read(id, now, deadline),
        }
    }

    /// The epic as it was last read, if the tracker's token is still the same.
    pub fn remembered(&self, id: &TaskId, now: Moment) -> Option<Epic> {
        let token = self.tracker.as_ref().ok()?.token()?;
        let tasks = self.last.as_ref()?.tasks_under(&token)?;
        Epic::of(&tasks, id.as_str(), now)
    }

    /// When what is remembered was read.
    pub fn remembered_at(&self) -> Option<Moment> {
        self.last.as_ref()?.read_at
    }

    /// The epic as the tracker has it now, asked a second time if there is time for it.
    pub fn read(&self, id: &TaskId, now: Moment, deadline: Instant) -> Result<Epic, Fault> {
        let ask = || {
            let list = self.list(now, deadline)?;
            Epic::of(&list.tasks, id.as_str(), now).ok_or_else(|| not_found(id))
        };
        ask().or_else(|fault| {
            if left(deadline) <= RETRY_PAUSE {
                return Err(fault);
            }
            thread::sleep(RETRY_PAUSE);
            ask()
        })
    }

    /// What the tracker itself calls ready; nothing where it has no say of its own.
    pub fn own_ready(&self, id: &TaskId, deadline: Instant) -> Result<Option<Vec<TaskId>>, Fault> {
        let tracker = self.tracker()?;
        let ready = tracker.own_ready(id, self.patience(tracker, deadline));
        ready.map_err(|error| told(Sensor::OwnReady, &error))
    }

    /// What was read afresh.
    pub fn news(&self) -> Option<&Memory> {
        self.next.get()
    }

    /// Every task of the tracker, read afresh and put by for the next stop.
    pub fn list(&self, now: Moment, deadline: Instant) -> Result<List, Fault> {
        let tracker = self.tracker()?;
        let list = tracker.tasks(self.patience(tracker, deadline));
        let list = list.map_err(|error| told(Sensor::Tasks, &error))?;
        if tracker.is_slow() {
            // Only a second reading of the same stop finds one there, and it is as good.
            let _ = self.next.set(Memory::of(&list, tracker.program(), now));
        }
        Ok(list)
    }

    fn tracker(&self) -> Result<&dyn Tracker, Fault> {
        match &self.tracker {
            Ok(tracker) => Ok(tracker.as_ref()),
            Err(fault) => Err(fault.clone()),
        }
    }

    /// A first answer may have to migrate a database on the way and must not be cut short: only
    /// of a program that has answered here is it known that it just reads.
    fn patience(&self, tracker: &dyn Tracker, deadline: Instant) -> Patience {
        let answered = self.last.as_ref().and_then(|last| last.program.as_ref());
        let when_late = match tracker.program() {
            None => WhenLate::End,
            Some(program) if answered == Some(&program) => WhenLate::End,
            Some(_) => WhenLate::Leave,
        };
        Patience {
            deadline: left(deadline),
            when_late,
        }
    }
}

/// A tracker's error with what a person can do about it.
fn told(sensor: Sensor, error: &tracker::Error) -> Fault {
    let mut fault = fault(sensor, error);
    if let Some(remedy) = remedy(error) {
        fault.what = format!("{}; {remedy}", fault.what);
    }
    fault
}

/// What to do where another program does not answer as it should.
pub fn remedy(error: &tracker::Error) -> Option<&'static str> {
    match error {
        tracker::Error::NoProgram { .. } => Some("install it, or put it on the agent's PATH"),
        tracker::Error::NoDatabase { .. } => Some("put it back, or run `bd bootstrap`"),
        tracker::Error::Program { .. } => Some("run it by hand to see more"),
        _ => None,
    }
}

fn not_found(epic: &TaskId) -> Fault {
    Fault::new(Sensor::Tasks, format!("epic {epic} was not found"))
}
