//! The database: opened without creating, written under one immediate transaction at a time.
//! Settings are those that lost nothing under 32 writers and kill -9: WAL, full sync (but for
//! stops), a busy handler with short sleeps, no checkpoint on close.

mod file;
mod stops;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior};
use serde::Serialize;

use super::error::{Error, from_sqlite, is_corrupt};
use super::place::StoreDir;
use super::wire::{StoredBaseline, StoredRoster, StoredRun, StoredSite};
use crate::edge::tracker::Memory;
use crate::kernel::ledger::{Run, State};
use crate::kernel::moment::Moment;
use crate::kernel::snapshot::Baseline;
pub use stops::Stop;

/// "bdlk": tells our database from any other `SQLite` file.
const APPLICATION_ID: i64 = 0x6264_6c6b;
const FORMAT: i64 = 7;
/// How long another process may keep us waiting.
const BUSY_SECONDS_MAX: u64 = 2;

/// How long the journal may get before it is folded into the database and begun anew.
const WAL_BYTES_MAX: u64 = 64 * 4096;

const SCHEMA: &str = "
CREATE TABLE run (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    epic TEXT NOT NULL,
    workspace TEXT NOT NULL,
    is_over INTEGER NOT NULL CHECK (is_over IN (0, 1)),
    started_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    doc TEXT NOT NULL,
    site TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX run_of_session ON run (session) WHERE is_over = 0;
CREATE UNIQUE INDEX run_of_epic ON run (workspace, epic) WHERE is_over = 0;
-- Who had a run before it moved to another session.
CREATE TABLE former (
    session TEXT NOT NULL,
    epic TEXT NOT NULL,
    PRIMARY KEY (session, epic)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER run_moves AFTER UPDATE OF session ON run WHEN old.session <> new.session
    BEGIN INSERT OR IGNORE INTO former VALUES (old.session, old.epic); END;
-- Large and seldom changed, so not in the row that every stop writes.
CREATE TABLE roster (
    run TEXT PRIMARY KEY REFERENCES run (id),
    members TEXT NOT NULL
) STRICT;
CREATE TABLE baseline (
    run TEXT PRIMARY KEY REFERENCES run (id),
    doc TEXT NOT NULL
) STRICT;
CREATE TABLE stop (
    run TEXT NOT NULL REFERENCES run (id),
    number INTEGER NOT NULL,
    record TEXT NOT NULL,
    -- What it was judged by; nothing where that was too much to keep.
    evidence TEXT,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
-- Large pieces of evidence, by a hash of them.
CREATE TABLE part (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER stop_is_final BEFORE UPDATE ON stop
    BEGIN SELECT RAISE(ABORT, 'a record is never changed'); END;
CREATE TRIGGER stop_is_kept BEFORE DELETE ON stop
    BEGIN SELECT RAISE(ABORT, 'a record is never deleted'); END;
-- What a slow tracker said last, good for as long as its token is the same.
CREATE TABLE memory (
    workspace TEXT NOT NULL,
    tracker TEXT NOT NULL,
    program TEXT,
    token TEXT,
    tasks TEXT NOT NULL,
    read_at INTEGER,
    PRIMARY KEY (workspace, tracker)
) STRICT, WITHOUT ROWID;
CREATE TABLE launch (
    launch TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    session TEXT NOT NULL
) STRICT;
";

/// Something about the run was not told yet.
/// (By its text: a document that is damaged would fail the whole search.)
const IS_OWED: &str = "instr(doc, '\"tell_is_owed\":true') > 0";
const OWED: &str = "\"tell_is_owed\":true";
/// How many runs are worth a line each.
const OWED_MAX: i64 = 3;

/// Where a run's facts are read. Fixed when it starts, wherever the agent goes later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The directory that has the tracker.
    pub workspace: PathBuf,
    /// The tracker's folder, where `BEADS_DIR` named it.
    pub beads: Option<PathBuf>,
    /// The directory whose work tree is watched.
    pub tree: PathBuf,
    /// The project's config, whether or not it is there.
    pub project_file: PathBuf,
    pub tracker: String,
    /// The project's own prompts, whether or not they are there.
    pub prompts: PathBuf,
}

#[derive(Clone, Debug)]
pub struct Kept {
    pub run: Run,
    pub site: Site,
    /// Counts the writes of the run; two readings of the same revision are the same.
    revision: i64,
}

impl Kept {
    /// A run that was never written.
    pub fn new(run: Run, site: Site) -> Kept {
        let revision = 0;
        Kept {
            run,
            site,
            revision,
        }
    }
}

/// A run whose document is damaged: what its row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    pub run: String,
    pub session: String,
    pub epic: String,
}

pub struct Store {
    dir: StoreDir,
    /// Gone once the file was put aside.
    connection: Option<Connection>,
}

impl Store {
    /// Opens the store, making it if need be. Only for what starts a run.
    pub fn create(dir: &StoreDir) -> Result<Store, Error> {
        file::make(dir, build)?;
        Store::connect(dir)?.checked()
    }

    /// Opens the store as it is.
    pub fn open(dir: &StoreDir) -> Result<Store, Error> {
        let path = dir.database();
        match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::Missing { path });
            }
            Ok(metadata) if metadata.len() == 0 => {
                if let Some(kept) = file::set_aside_if_damaged(dir)? {
                    return Err(Error::Corrupt { kept });
                }
            }
            Ok(_) | Err(_) => {}
        }
        Store::connect(dir)?.checked()
    }

    /// Forgets every session if there is no database: whatever was guarded is so no longer.
    pub fn unmark_all_if_missing(dir: &StoreDir) -> Result<(), Error> {
        file::unmark_all_if_missing(dir)
    }

    pub fn dir(&self) -> &StoreDir {
        &self.dir
    }

    /// From here on a write outlasts the process that makes it, whatever ends that, and not
    /// necessarily a power failure: nor does the session that a stop belongs to. Spares each stop
    /// a wait for the disk.
    pub fn leave_syncing_to_others(&mut self) {
        let relaxed =
            self.attempt(|connection| connection.pragma_update(None, "synchronous", "NORMAL"));
        // Else it is as slow as before.
        drop(relaxed);
    }

    fn connect(dir: &StoreDir) -> Result<Store, Error> {
        let path = dir.database();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&path, flags);
        let mut connection =
            opened.map_err(|error| from_sqlite(&error, &path, BUSY_SECONDS_MAX))?;
        let prepared = connection
            .busy_handler(Some(busy_handler()))
            .and_then(|()| {
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            })
            // SQLite's own would write the journal's pages at every stop and never begin it anew:
            // what was folded is forgotten when the last process leaves.
            .and_then(|_| connection.pragma_update(None, "wal_autocheckpoint", 0));
        prepared.map_err(|error| from_sqlite(&error, &path, BUSY_SECONDS_MAX))?;
        Ok(Store {
            dir: dir.clone(),
            connection: Some(connection),
        })
    }

    /// Ours, and of a format that this program may write.
    fn checked(mut self) -> Result<Store, Error> {
        let path = self.dir.database();
        let pragma = |name: &'static str| {
            move |connection: &mut Connection| {
                connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
            }
        };
        let format = self.attempt(pragma("user_version"))?;
        let application = self.attempt(pragma("application_id"))?;
        match (application, format) {
            (APPLICATION_ID, FORMAT) => Ok(self),
            (APPLICATION_ID, found) if found > FORMAT => Err(Error::Newer {
                path,
                found,
                known: FORMAT,
            }),
            (APPLICATION_ID, found) => Err(Error::Unreadable {
                path,
                what: format!("its format {found} is older than any that was released"),
            }),
            (_, _) => Err(Error::Unreadable {
                path,
                what: "it is not a store of beadlock's".to_owned(),
            }),
        }
    }

    pub fn run_of_session(&mut self, session: &str) -> Result<Option<Kept>, Error> {
        let found = self.attempt(|connection| newest_of(connection, session))?;
        found.transpose()
    }

    /// Takes back the mark of a session that has no run any more and is owed nothing. Under the
    /// lock, so that a run which begins meanwhile keeps its mark. In doubt it stays: one too many
    /// costs a look at the store, one too few frees an agent.
    pub fn unmark_unless_held(&mut self, session: &str) {
        let dir = self.dir.clone();
        let unmarked = self.write(|writer| -> Result<(), Error> {
            let held = writer.count("session = ?1 AND is_over = 0", session)?;
            let owed = writer.count(&format!("session = ?1 AND {IS_OWED}"), session)?;
            if held + owed == 0 {
                dir.unmark(session);
            }
            Ok(())
        });
        // A mark that stays is tried again at the next end.
        drop(unmarked);
    }

    /// Forgets the marks of sessions that have no run and are owed nothing, such as those whose
    /// `start` was killed before it had written one.
    pub fn sweep_marks(&mut self) -> Result<(), Error> {
        let dir = self.dir.clone();
        self.write(|writer| {
            dir.keep_only(&writer.sessions()?);
            Ok(())
        })
    }

    /// How many such marks there are.
    pub fn idle_marks(&mut self) -> Result<usize, Error> {
        let dir = self.dir.clone();
        self.write(|writer| Ok(dir.marks_beyond(&writer.sessions()?)))
    }

    /// What is wrong with the whole of the database; nothing if it is sound.
    pub fn trouble(&mut self) -> Result<Option<String>, Error> {
        let found: String = self.attempt(|connection| {
            connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        })?;
        Ok((found != "ok").then_some(found))
    }

    /// The runs of which the person was not told something yet, the oldest first: those of one
    /// session, or of all.
    pub fn owed(&mut self, session: Option<&str>) -> Result<Vec<Kept>, Error> {
        let sql = format!(
            "{SELECT} WHERE {IS_OWED} AND (?1 IS NULL OR session = ?1) ORDER BY started_at LIMIT ?2"
        );
        let found: Vec<Columns> = self.attempt(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map((session, OWED_MAX), kept_columns)?;
            rows.collect()
        })?;
        // One that cannot be read must not hide the others.
        Ok(found
            .into_iter()
            .filter_map(|row| row.read().ok())
            .collect())
    }

    /// Notes that the person was shown what was owed of these runs.
    pub fn note_told(&mut self, runs: &[Kept]) -> Result<(), Error> {
        if runs.is_empty() {
            return Ok(());
        }
        self.write(|writer| {
            for told in runs {
                if let Some(mut newest) = writer.run(&told.run.id)? {
                    newest.run.note_told();
                    writer.save(&newest.run)?;
                }
            }
            Ok(())
        })
    }

    /// What is remembered of the tracker of a run's site.
    pub fn memory(&mut self, site: &Site) -> Result<Option<Memory>, Error> {
        let sql = "SELECT program, token, tasks, read_at FROM memory
                   WHERE workspace = ?1 AND tracker = ?2";
        let workspace = site.workspace.to_string_lossy();
        self.attempt(|connection| {
            let read = |row: &Row<'_>| {
                Ok(Memory {
                    program: row.get(0)?,
                    token: row.get(1)?,
                    tasks: row.get(2)?,
                    read_at: row.get::<_, Option<i64>>(3)?.map(Moment),
                })
            };
            let found = connection.query_row(sql, [&workspace, site.tracker.as_str()], read);
            found.optional()
        })
    }

    /// All runs that can be read, the newest first.
    pub fn runs(&mut self) -> Result<Vec<Kept>, Error> {
        let sql = format!("{SELECT} ORDER BY started_at DESC, id");
        let found: Vec<Columns> = self.attempt(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map([], kept_columns)?;
            rows.collect()
        })?;
        Ok(found
            .into_iter()
            .filter_map(|row| row.read().ok())
            .collect())
    }

    /// The runs that are not over and cannot be read. They hold nobody, and take no other run's
    /// exits away.
    pub fn unread(&mut self) -> Result<Vec<Unread>, Error> {
        let sql = "SELECT id, session, epic FROM run WHERE is_over = 0";
        let live: Vec<Unread> = self.attempt(|connection| {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                Ok(Unread {
                    run: row.get(0)?,
                    session: row.get(1)?,
                    epic: row.get(2)?,
                })
            })?;
            rows.collect()
        })?;
        let read = self.runs()?;
        let is_unread = |live: &Unread| read.iter().all(|kept| kept.run.id != live.run);
        Ok(live.into_iter().filter(is_unread).collect())
    }

    /// Nothing if git could not be read when the run started.
    pub fn baseline(&mut self, run: &str) -> Result<Option<Baseline>, Error> {
        let text: Option<String> = self.attempt(|connection| {
            let sql = "SELECT doc FROM baseline WHERE run = ?1";
            connection
                .query_row(sql, [run], |row| row.get(0))
                .optional()
        })?;
        let bad = |error: serde_json::Error| Error::BadRun {
            run: run.to_owned(),
            what: error.to_string(),
        };
        let read =
            |text: String| serde_json::from_str::<StoredBaseline<'_>>(&text).map(Baseline::from);
        text.map(|text| read(text).map_err(bad)).transpose()
    }

    /// Everything that `change` does, or nothing of it: whatever error it ends with, nothing is
    /// kept. The closure must not start processes or wait for anything: others wait for it.
    pub fn write<T, E: From<Error>>(
        &mut self,
        change: impl FnOnce(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let path = self.dir.database();
        let mut outcome: Option<Result<T, E>> = None;
        let mut is_damaged = false;
        self.attempt(|connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let writer = Writer {
                transaction: &transaction,
                path: &path,
                is_damaged: Cell::new(false),
            };
            let result = change(&writer);
            is_damaged = writer.is_damaged.get();
            let is_fine = result.is_ok();
            outcome = Some(result);
            if is_fine {
                transaction.commit()
            } else {
                transaction.rollback()
            }
        })?;
        if is_damaged {
            return Err(self.damaged().into());
        }
        self.fold_journal();
        if !path.exists() {
            // Deleted under our feet: what was written went into a file that nobody will find.
            return Err(Error::Missing { path }.into());
        }
        outcome.unwrap_or_else(|| {
            let what = "nothing was written".to_owned();
            Err(Error::Unreadable { path, what }.into())
        })
    }

    /// Runs a database operation; a file that turns out to be damaged is put aside.
    fn attempt<T>(
        &mut self,
        operation: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let path = self.dir.database();
        let Some(connection) = &mut self.connection else {
            return Err(Error::Missing { path });
        };
        match operation(connection) {
            Ok(value) => Ok(value),
            Err(error) if is_corrupt(&error) => Err(self.damaged()),
            Err(error) => Err(from_sqlite(&error, &path, BUSY_SECONDS_MAX)),
        }
    }

    /// The first one in reads the whole journal, so it is kept short. Whoever is at work in the
    /// database just now is not waited for; the next one does it.
    fn fold_journal(&mut self) {
        let journal = self.dir.journal();
        let is_long = fs::metadata(journal).is_ok_and(|metadata| metadata.len() > WAL_BYTES_MAX);
        if let Some(connection) = self.connection.as_mut().filter(|_| is_long) {
            let impatient = connection.busy_timeout(Duration::ZERO);
            let fold = "PRAGMA wal_checkpoint(TRUNCATE)";
            let folded = impatient.and_then(|()| connection.query_row(fold, [], |_| Ok(())));
            // Whatever came of it: what was written is safe in the journal as well.
            drop(folded);
            drop(connection.busy_handler(Some(busy_handler())));
        }
    }

    fn damaged(&mut self) -> Error {
        let path = self.dir.database();
        self.connection = None;
        match file::set_aside_if_damaged(&self.dir) {
            Ok(Some(kept)) => Error::Corrupt { kept },
            Ok(None) => Error::Unreadable {
                path,
                what: "it was replaced meanwhile".to_owned(),
            },
            Err(error) => error,
        }
    }
}

/// A write under way.
pub struct Writer<'a> {
    transaction: &'a Transaction<'a>,
    path: &'a Path,
    /// The file turned out to be damaged.
    is_damaged: Cell<bool>,
}

impl Writer<'_> {
    pub fn run_of_session(&self, session: &str) -> Result<Option<Kept>, Error> {
        let found = newest_of(self.transaction, session);
        self.sql(found)?.transpose()
    }

    /// Whether the session's run is still the one that is known, and nobody has written it since.
    pub fn is_unchanged(&self, known: &Kept) -> Result<bool, Error> {
        let sql = format!("SELECT id, revision FROM run WHERE {OF_SESSION} LIMIT 1");
        let row = self
            .transaction
            .query_row(&sql, [&known.run.session], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            });
        let newest = self.sql(row.optional())?;
        Ok(newest.is_some_and(|(id, revision)| id == known.run.id && revision == known.revision))
    }

    pub fn run(&self, id: &str) -> Result<Option<Kept>, Error> {
        let sql = format!("{SELECT} WHERE id = ?1");
        let found = self.transaction.query_row(&sql, [id], kept_columns);
        self.sql(found.optional())?.map(Columns::read).transpose()
    }

    /// The runs that are not over, and can be read.
    pub fn live_runs(&self) -> Result<Vec<Kept>, Error> {
        let sql = format!("{SELECT} WHERE is_over = 0 ORDER BY started_at DESC, id");
        let mut statement = self.sql(self.transaction.prepare(&sql))?;
        let rows = self.sql(statement.query_map([], kept_columns))?;
        let found: rusqlite::Result<Vec<Columns>> = rows.collect();
        let found = self.sql(found)?.into_iter();
        Ok(found.filter_map(|row| row.read().ok()).collect())
    }

    /// The sessions that hold a run, or are owed a word about one.
    fn sessions(&self) -> Result<Vec<String>, Error> {
        let sql = format!("SELECT DISTINCT session FROM run WHERE is_over = 0 OR {IS_OWED}");
        let mut statement = self.sql(self.transaction.prepare(&sql))?;
        let rows = self.sql(statement.query_map([], |row| row.get(0)))?;
        self.sql(rows.collect())
    }

    /// Ends a run without a look at what it says. Nobody can be told any more what is owed of it.
    pub fn end_unread(&self, run: &str) -> Result<(), Error> {
        let sql = "UPDATE run SET is_over = 1, doc = replace(doc, ?2, '') WHERE id = ?1";
        self.sql(self.transaction.execute(sql, [run, OWED]))
            .map(drop)
    }

    /// Whether the session ever had a run of the epic, be it one that has moved on since.
    pub fn ever_ran(&self, session: &str, epic: &str) -> Result<bool, Error> {
        self.sql(self.transaction.query_row(
            "SELECT EXISTS (SELECT 1 FROM run WHERE session = ?1 AND epic = ?2)
                 OR EXISTS (SELECT 1 FROM former WHERE session = ?1 AND epic = ?2)",
            [session, epic],
            |row| row.get(0),
        ))
    }

    pub fn insert(&self, kept: &Kept, baseline: Option<&Baseline>) -> Result<(), Error> {
        let run = &kept.run;
        let site = StoredSite::try_from(&kept.site).map_err(|what| Error::Unreadable {
            path: self.path.to_owned(),
            what,
        })?;
        self.sql(self.transaction.execute(
            "INSERT INTO run (id, session, epic, workspace, is_over, started_at, revision, doc, site)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8)",
            (
                &run.id,
                &run.session,
                run.epic.as_str(),
                kept.site.workspace.to_string_lossy(),
                run.state == State::Ended,
                run.started_at.0,
                json(&StoredRun::from(run))?,
                json(&site)?,
            ),
        ))?;
        self.save_roster(run)?;
        match baseline {
            Some(baseline) => self.add_baseline(&run.id, baseline),
            None => Ok(()),
        }
    }

    pub fn save(&self, run: &Run) -> Result<(), Error> {
        let changed = self.sql(self.transaction.execute(
            "UPDATE run SET session = ?2, is_over = ?3, doc = ?4, revision = revision + 1
             WHERE id = ?1",
            (
                &run.id,
                &run.session,
                run.state == State::Ended,
                json(&StoredRun::from(run))?,
            ),
        ))?;
        if changed == 1 {
            self.save_roster(run)
        } else {
            Err(Error::NoRun {
                path: self.path.to_owned(),
                what: format!("`{}`", run.id),
            })
        }
    }

    fn save_roster(&self, run: &Run) -> Result<(), Error> {
        let Some(roster) = &run.roster else {
            return Ok(());
        };
        self.sql(self.transaction.execute(
            "INSERT INTO roster (run, members) VALUES (?1, ?2)
             ON CONFLICT (run) DO UPDATE SET members = ?2 WHERE members <> ?2",
            (&run.id, json(&StoredRoster::of(roster))?),
        ))
        .map(drop)
    }

    /// Records a baseline that could not be had when the run started.
    pub fn add_baseline(&self, run: &str, baseline: &Baseline) -> Result<(), Error> {
        self.sql(self.transaction.execute(
            "INSERT INTO baseline (run, doc) VALUES (?1, ?2) ON CONFLICT (run) DO NOTHING",
            (run, json(&StoredBaseline::from(baseline))?),
        ))
        .map(drop)
    }

    /// Takes the place of what was remembered of the tracker.
    pub fn remember(&self, site: &Site, memory: &Memory) -> Result<(), Error> {
        let key = (site.workspace.to_string_lossy(), &site.tracker);
        let sql = "INSERT OR REPLACE INTO memory
                   (workspace, tracker, program, token, tasks, read_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let read_at = memory.read_at.map(|at| at.0);
        let known = (&memory.program, &memory.token, &memory.tasks);
        let values = (key.0, key.1, known.0, known.1, known.2, read_at);
        self.sql(self.transaction.execute(sql, values)).map(drop)
    }

    /// The session that was first seen with a launch.
    pub fn bound(&self, launch: &str) -> Result<Option<String>, Error> {
        let sql = "SELECT session FROM launch WHERE launch = ?1";
        let found = self.transaction.query_row(sql, [launch], |row| row.get(0));
        self.sql(found.optional())
    }

    /// Binds a launch to the first session that is seen with it.
    pub fn bind(&self, launch: &str, run: &str, session: &str) -> Result<(), Error> {
        self.sql(self.transaction.execute(
            "INSERT INTO launch (launch, run, session) VALUES (?1, ?2, ?3)
             ON CONFLICT (launch) DO NOTHING",
            [launch, run, session],
        ))
        .map(drop)
    }

    fn count(&self, condition: &str, value: &str) -> Result<i64, Error> {
        let sql = format!("SELECT count(*) FROM run WHERE {condition}");
        self.sql(self.transaction.query_row(&sql, [value], |row| row.get(0)))
    }

    fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|error| {
            if is_corrupt(&error) {
                self.is_damaged.set(true);
            }
            from_sqlite(&error, self.path, BUSY_SECONDS_MAX)
        })
    }
}

const SELECT: &str = "SELECT id, revision, doc, site,
    (SELECT members FROM roster WHERE roster.run = run.id), is_over FROM run";

/// The one that is not over, then the newest.
const OF_SESSION: &str = "session = ?1 ORDER BY is_over, started_at DESC";

/// The session's run that is not over, else the newest one that can be read: what is over and
/// damaged is in nobody's way.
fn newest_of(
    connection: &Connection,
    session: &str,
) -> rusqlite::Result<Option<Result<Kept, Error>>> {
    let mut statement = connection.prepare(&format!("{SELECT} WHERE {OF_SESSION}"))?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let is_over: bool = row.get("is_over")?;
        let read = kept_columns(row)?.read();
        if read.is_ok() || !is_over {
            return Ok(Some(read));
        }
    }
    Ok(None)
}

struct Columns {
    id: String,
    revision: i64,
    doc: String,
    site: String,
    roster: Option<String>,
}

fn kept_columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok(Columns {
        id: row.get(0)?,
        revision: row.get(1)?,
        doc: row.get(2)?,
        site: row.get(3)?,
        roster: row.get(4)?,
    })
}

impl Columns {
    fn read(self) -> Result<Kept, Error> {
        let bad = |what: String| Error::BadRun {
            run: self.id.clone(),
            what,
        };
        let site: Result<StoredSite, _> = serde_json::from_str(&self.site);
        let site = site.map_err(|error| error.to_string());
        Ok(Kept {
            run: self.run().map_err(bad)?,
            site: site.and_then(Site::try_from).map_err(bad)?,
            revision: self.revision,
        })
    }

    fn run(&self) -> Result<Run, String> {
        let bad = |error: serde_json::Error| error.to_string();
        let stored: StoredRun = serde_json::from_str(&self.doc).map_err(bad)?;
        let roster: Option<StoredRoster<'_>> = match &self.roster {
            Some(roster) => Some(serde_json::from_str(roster).map_err(bad)?),
            None => None,
        };
        let mut run = Run::try_from(stored)?;
        run.roster = roster.map(StoredRoster::members).transpose()?;
        Ok(run)
    }
}

fn json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::BadRun {
        run: String::new(),
        what: error.to_string(),
    })
}

/// Fills an empty file with what a store begins with.
fn build(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()?;
    // Last, so that nothing is in a journal, which would stay behind under another name. Some file
    // systems have no shared memory; their rollback journal is slower, not wrong.
    connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))
}

/// Short sleeps that differ between processes. `SQLite`'s own back-off grows to 100 ms and made the
/// slowest of 32 writers seven times slower.
fn busy_handler() -> impl FnMut(i32) -> bool + Send + 'static {
    let jitter = u64::from(std::process::id()) % 1000;
    let mut waiting_since: Option<Instant> = None;
    move |attempt| {
        if attempt == 0 {
            waiting_since = None;
        }
        let since = *waiting_since.get_or_insert_with(Instant::now);
        std::thread::sleep(Duration::from_micros(300 + jitter));
        since.elapsed() < Duration::from_secs(BUSY_SECONDS_MAX)
    }
}
