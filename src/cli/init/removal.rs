//! What `init --remove` would take out: to the byte where a file is as it was left, and otherwise
//! just what is ours.

use super::plan::{Desk, Plan, way_out};
use super::project_file::PROJECT_FILE;
use crate::cli::report::Refusal;
use crate::edge::agent::{run_tasks, settings};
use crate::edge::wiring::{Note, Noted, Planned};

pub fn removal(desk: &Desk, note: &Note) -> Result<Plan, Refusal> {
    let mut plan = Plan::default();
    let of_hooks = hooks(desk, note, &mut plan)?;
    plan.files.extend(of_hooks);
    for path in [desk.scope.run_tasks(), PROJECT_FILE] {
        let noted = note.of(path);
        let Some(text) = desk.read(path)? else {
            plan.files.extend(forgotten(noted, path, None));
            continue;
        };
        let is_ours = path != PROJECT_FILE && run_tasks::is_ours(&text);
        match noted.and_then(|noted| noted.original(&text)) {
            Some(after) => plan.files.push(removed(path, text, after)),
            None if is_ours => plan.files.push(removed(path, text, None)),
            None => {
                let place = desk.base.at(path);
                let said = || format!("`{}` was changed since and stays", place.display());
                plan.remarks.extend(noted.map(|_| said()));
                plan.files.extend(forgotten(noted, path, Some(text)));
            }
        }
    }
    for (scope, path, seen) in desk.others(&mut Plan::default()) {
        if seen.has_any() {
            let way_out = way_out(scope, &path, &seen);
            plan.remarks.push(format!(
                "`{}` calls Beadlock too; {way_out}",
                path.display()
            ));
        }
    }
    Ok(plan)
}

fn hooks(desk: &Desk, note: &Note, plan: &mut Plan) -> Result<Option<Planned>, Refusal> {
    let path = desk.scope.settings();
    let noted = note.of(path);
    let Some(text) = desk.read(path)? else {
        return Ok(forgotten(noted, path, None));
    };
    let after = match noted.and_then(|noted| noted.original(&text)) {
        Some(original) => original,
        None => without(desk, noted, &text)?,
    };
    let left = after
        .as_deref()
        .and_then(|left| settings::look(left, &desk.program).ok())
        .unwrap_or_default();
    if let Some((_, line)) = left.calls.first() {
        plan.warnings.push(format!(
            "line {line} of `{}` called Beadlock before `init` did, and will again; `beadlock init{} --remove` once more takes that out too",
            desk.settings_path().display(),
            desk.scope.option()
        ));
    }
    plan.warn_of_composed(&left, &desk.settings_path());
    if after.as_deref() == Some(&text) {
        return Ok(forgotten(noted, path, after));
    }
    Ok(Some(removed(path, text, after)))
}

/// Settings that were changed since, without what is ours; nothing if that was all they said.
fn without(desk: &Desk, noted: Option<&Noted>, text: &str) -> Result<Option<String>, Refusal> {
    let revision = settings::unwire(text, &desk.program).map_err(|it| desk.settings(&it))?;
    let is_ours = noted.is_some_and(Noted::is_creation);
    let is_over = is_ours && settings::is_empty(revision.text());
    Ok((!is_over).then(|| revision.text().to_owned()))
}

fn removed(path: &'static str, before: String, after: Option<String>) -> Planned {
    Planned {
        path,
        before: Some(before),
        after,
        noted: None,
    }
}

/// A file that stays as it is, and the way back that is not kept any longer.
fn forgotten(noted: Option<&Noted>, path: &'static str, text: Option<String>) -> Option<Planned> {
    noted.map(|_| Planned {
        path,
        before: text.clone(),
        after: text,
        noted: None,
    })
}
