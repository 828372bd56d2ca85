//! All routes of the console, read from its routers: what is checked for each cannot forget a new
//! one.

use std::fs;
use std::path::Path;

use super::GROUP;

/// Route of a page or of its files.
pub(crate) struct Route {
    /// Path with names in braces.
    pub(crate) pattern: String,
    /// True if it can be opened.
    pub(crate) opens: bool,
    /// True if it takes a form.
    pub(crate) posts: bool,
}

impl Route {
    /// Returns its path, with things that exist in the group, but for jobs, rules, keys, webhooks
    /// and consents.
    pub(crate) fn path(&self) -> String {
        let values = [
            ("{channel}", GROUP),
            ("{message}", "p003"),
            ("{user}", "Umember"),
            ("{person}", "Umember"),
            ("{job}", "job_1"),
            ("{export}", "exp_1"),
            ("{rule}", "qa_1_a"),
            ("{key}", "key_1"),
            ("{webhook}", "wh_1"),
            ("{delivery}", "dlv_1"),
            ("{consent}", "grant_1"),
        ];
        let path = values
            .iter()
            .fold(self.pattern.clone(), |path, (name, value)| path.replace(name, value));
        assert!(!path.contains('{'), "no value for {path}");
        path
    }

    /// Returns its paths with U+0000 in place of one value each.
    pub(crate) fn with_nul(&self) -> Vec<String> {
        let names = self.pattern.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
        let nul = |name: &str| {
            let pattern = self.pattern.replace(&format!("{{{name}}}"), "%00");
            Self { pattern, ..*self }.path()
        };
        names.map(nul).collect()
    }
}

/// Reads all sources of a folder, and of those in it.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// Returns all routes.
pub(crate) fn routes() -> Vec<Route> {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console"), &mut files);
    let calls = files.iter().flat_map(|file| file.split(".route(").skip(1));
    // The files of pages have no path of their own in the source.
    let calls = calls.filter(|call| call.trim_start().starts_with('"'));
    let routes: Vec<_> = calls
        .map(|call| {
            let call = call.split(';').next().unwrap();
            let pattern = call.split('"').nth(1).unwrap().to_owned();
            let (opens, posts) = (call.contains("get("), call.contains("post("));
            assert!(opens || posts, "{pattern} does nothing");
            Route { pattern, opens, posts }
        })
        .collect();
    assert!(routes.len() > 40 && routes.iter().filter(|route| route.posts).count() > 18);
    routes
}
