//! The records of stops and what they stood on: appended, never changed.

use rusqlite::OptionalExtension;
use serde_json::value::RawValue;

use super::super::error::Error;
use super::super::record::Record;
use super::super::wire::{Evidence, Part};
use super::{Store, Writer, json};
use crate::kernel::snapshot::Snapshot;

/// What one stop may leave as evidence. A tracker of tens of thousands of tasks stays below it.
const EVIDENCE_BYTES_MAX: usize = 2 << 20;
/// Parts shorter than this stay where they are.
const PART_BYTES_MIN: usize = 100;
const PART_NAME_DIGITS: usize = 32;

/// One stop as it was recorded.
#[derive(Clone, Debug)]
pub struct Stop {
    /// From 1, in the order in which the run's stops were recorded.
    pub number: u32,
    pub record: Record,
    /// Nothing where it was too large to keep.
    pub evidence: Option<Evidence>,
}

impl Store {
    /// The newest record of a run.
    pub fn last_record(&mut self, run: &str) -> Result<Option<Record>, Error> {
        let sql = "SELECT record FROM stop WHERE run = ?1 ORDER BY number DESC LIMIT 1";
        let text: Option<String> = self.attempt(|connection| {
            let found = connection.query_row(sql, [run], |row| row.get(0));
            found.optional()
        })?;
        text.map(|text| read_record(run, &text)).transpose()
    }

    /// The records of a run's stops, the oldest first.
    pub fn records(&mut self, run: &str) -> Result<Vec<Record>, Error> {
        let texts: Vec<String> = self.attempt(|connection| {
            let mut statement =
                connection.prepare("SELECT record FROM stop WHERE run = ?1 ORDER BY number")?;
            let rows = statement.query_map([run], |row| row.get(0))?;
            rows.collect()
        })?;
        texts.iter().map(|text| read_record(run, text)).collect()
    }

    /// How many stops of a run were recorded.
    pub fn stops(&mut self, run: &str) -> Result<u32, Error> {
        let sql = "SELECT coalesce(max(number), 0) FROM stop WHERE run = ?1";
        self.attempt(|connection| connection.query_row(sql, [run], |row| row.get(0)))
    }

    /// A stop of a run by its number, with all that it stood on.
    pub fn stop(&mut self, run: &str, number: u32) -> Result<Option<Stop>, Error> {
        let sql = "SELECT record, evidence FROM stop WHERE run = ?1 AND number = ?2";
        let found: Option<(String, Option<String>)> = self.attempt(|connection| {
            let found =
                connection.query_row(sql, (run, number), |row| Ok((row.get(0)?, row.get(1)?)));
            found.optional()
        })?;
        let Some((record, evidence)) = found else {
            return Ok(None);
        };
        let evidence = match evidence {
            Some(text) => Some(self.evidence(run, &text)?),
            None => None,
        };
        Ok(Some(Stop {
            number,
            record: read_record(run, &record)?,
            evidence,
        }))
    }

    /// Evidence with its parts put back where they belong.
    fn evidence(&mut self, run: &str, text: &str) -> Result<Evidence, Error> {
        let mut evidence: Evidence =
            serde_json::from_str(text).map_err(|error| bad(run, &error))?;
        for part in evidence.parts() {
            let Ok(name) = serde_json::from_str::<String>(part.get()) else {
                continue;
            };
            let body: Option<String> = self.attempt(|connection| {
                let sql = "SELECT body FROM part WHERE name = ?1";
                let found = connection.query_row(sql, [&name], |row| row.get(0));
                found.optional()
            })?;
            let body = body.ok_or_else(|| bad(run, &format!("its part `{name}` is gone")))?;
            *part = RawValue::from_string(body).map_err(|error| bad(run, &error))?;
        }
        Ok(evidence)
    }
}

impl Writer<'_> {
    /// Appends the record of a stop, and what it stood on.
    pub fn record(&self, run: &str, record: &Record, snapshot: &Snapshot) -> Result<(), Error> {
        let evidence = Evidence::of(snapshot).map_err(|error| bad(run, &error))?;
        let evidence = match evidence {
            Some(evidence) => self.put_by(evidence)?,
            None => None,
        };
        self.sql(self.transaction.execute(
            "INSERT INTO stop (run, number, record, evidence)
             SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3 FROM stop WHERE run = ?1",
            (run, json(record)?, evidence),
        ))
        .map(drop)
    }

    /// Evidence as text, its large parts under names of their own: stops of a run share them as
    /// long as nothing moves. Nothing if it is too large.
    fn put_by(&self, mut evidence: Evidence) -> Result<Option<String>, Error> {
        let length = |part: &mut Part| part.get().len();
        let total: usize = evidence.parts().into_iter().map(length).sum();
        if total > EVIDENCE_BYTES_MAX {
            return Ok(None);
        }
        for part in evidence.parts() {
            if part.get().len() < PART_BYTES_MIN {
                continue;
            }
            let hash = blake3::hash(part.get().as_bytes()).to_hex();
            let name = &hash.as_str()[..PART_NAME_DIGITS];
            let sql = "INSERT INTO part (name, body) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
            self.sql(self.transaction.execute(sql, [name, part.get()]))?;
            *part = serde_json::value::to_raw_value(name).map_err(|error| bad(name, &error))?;
        }
        let text = json(&evidence)?;
        Ok((text.len() <= EVIDENCE_BYTES_MAX).then_some(text))
    }
}

fn read_record(run: &str, text: &str) -> Result<Record, Error> {
    serde_json::from_str(text).map_err(|error| bad(run, &error))
}

fn bad(run: &str, what: &impl ToString) -> Error {
    Error::BadRun {
        run: run.to_owned(),
        what: what.to_string(),
    }
}
