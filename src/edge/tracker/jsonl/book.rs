//! The file's text as tasks, each with the place it was written at.

use std::ops::Range;
use std::path::Path;

use foldhash::{HashMap, HashMapExt};

use super::line::{Edit, Line};
use super::reader;
use crate::edge::tracker::error::Error;
use crate::kernel::task::{Task, TaskId};

/// Everything the file said at one moment.
#[derive(Debug, Default)]
pub struct Book {
    text: String,
    tasks: Vec<Task>,
    /// Where each task is written; most of them once.
    places: Vec<Range<usize>>,
    /// Further copies of a task's line, byte for byte the same. A merge can leave such.
    copies: Vec<(usize, Range<usize>)>,
}

impl Book {
    pub fn parse(text: String, path: &Path) -> Result<Book, Error> {
        let unreadable = |line: usize, what: String| Error::Unreadable {
            path: path.to_path_buf(),
            line: Some(line),
            what,
        };
        let found = reader::read(&text).map_err(|(line, what)| unreadable(line, what))?;
        let mut first_by_id: HashMap<&str, usize> = HashMap::with_capacity(found.len());
        let mut copy_of: Vec<Option<usize>> = vec![None; found.len()];
        for (index, (number, place, task)) in found.iter().enumerate() {
            let first = *first_by_id.entry(task.id.as_str()).or_insert(index);
            if first != index {
                let (first_number, first_place, _) = &found[first];
                if text[first_place.clone()] != text[place.clone()] {
                    let what = format!("`{}` is not what line {first_number} says", task.id);
                    return Err(unreadable(*number, what));
                }
                copy_of[index] = Some(first);
            }
        }
        drop(first_by_id);
        let mut book = Book {
            text,
            ..Book::default()
        };
        let mut index_of: Vec<usize> = Vec::with_capacity(found.len());
        for ((_, place, task), copy_of) in found.into_iter().zip(copy_of) {
            index_of.push(book.tasks.len());
            if let Some(first) = copy_of {
                book.copies.push((index_of[first], place));
            } else {
                book.tasks.push(task);
                book.places.push(place);
            }
        }
        Ok(book)
    }

    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    pub fn into_tasks(self) -> Vec<Task> {
        self.tasks
    }

    pub fn find(&self, id: &TaskId) -> Option<usize> {
        self.tasks.iter().position(|task| task.id == *id)
    }

    /// What a task's line says under a key that no task has a field for.
    pub fn text(&self, index: usize, key: &str) -> Option<String> {
        self.line(index)?.text(key)
    }

    pub fn line(&self, index: usize) -> Option<Line<'_>> {
        Line::parse(&self.text[self.places.get(index)?.clone()]).ok()
    }

    /// The file's text with one task's line edited, and all of its copies with it.
    pub fn edited(&self, index: usize, edits: &[Edit]) -> Option<String> {
        let mut line = self.line(index)?;
        for edit in edits {
            line.apply(edit);
        }
        let line = line.to_string();
        let copies = self.copies.iter().filter(|(of, _)| *of == index);
        let mut places: Vec<&Range<usize>> = copies.map(|(_, place)| place).collect();
        places.push(&self.places[index]);
        places.sort_by_key(|place| place.start);
        let mut text = String::with_capacity(self.text.len() + line.len());
        let mut end = 0;
        for place in places {
            text.push_str(&self.text[end..place.start]);
            text.push_str(&line);
            end = place.end;
        }
        text.push_str(&self.text[end..]);
        Some(text)
    }

    /// The file's text with another line at its end.
    pub fn appended(&self, line: &str) -> String {
        let terminator = match memchr::memchr(b'\n', self.text.as_bytes()) {
            Some(end) if self.text[..end].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let mut text = self.text.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(terminator);
        }
        text.push_str(line);
        text.push_str(terminator);
        text
    }
}
