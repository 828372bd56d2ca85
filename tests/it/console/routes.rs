//! All routes of the console, read from its routers: what is checked for each cannot forget a new
//! one.

use std::fs;
use std::path::Path;

use super::GROUP;

/// Route of a page or of its files.
pub(super) struct Route {
    /// Path with names in braces.
    pub(super) pattern: String,
    /// True if it can be opened.
    pub(super) opens: bool,
    /// True if it takes a form.
    pub(super) posts: bool,
}

impl Route {
    /// Returns its path, with things that exist in the group, but for jobs and rules.
    pub(super) fn path(&self) -> String {
        let values = [
            ("{channel}", GROUP),
            ("{message}", "p003"),
            ("{user}", "Umember"),
            ("{person}", "Umember"),
            ("{job}", "job_1"),
            ("{rule}", "qa_1_a"),
        ];
        let path = values
            .iter()
            .fold(self.pattern.clone(), |path, (name, value)| path.replace(name, value));
        assert!(!path.contains('{'), "no value for {path}");
        path
    }

    /// Returns its paths with U+0000 in place of one value each.
    pub(super) fn with_nul(&self) -> Vec<String> {
        let names = self.pattern.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
        let nul = |name: &str| {
            let pattern = self.pattern.replace(&format!("{{{name}}}"), "%00");
            Self { pattern, ..*self }.path()
        };
        names.map(nul).collect()
    }
}

/// Returns all routes.
pub(super) fn routes() -> Vec<Route> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["src/console/mod.rs", "src/console/assistant/mod.rs"];
    let files = files.map(|file| fs::read_to_string(root.join(file)).unwrap());
    let calls = files.iter().flat_map(|file| file.split(".route(").skip(1));
    let routes: Vec<_> = calls
        .map(|call| {
            let call = call.split(';').next().unwrap();
            let pattern = call.split('"').nth(1).unwrap().to_owned();
            let (opens, posts) = (call.contains("get("), call.contains("post("));
            assert!(opens || posts, "{pattern} does nothing");
            Route { pattern, opens, posts }
        })
        .collect();
    assert!(routes.len() > 25 && routes.iter().filter(|route| route.posts).count() > 8);
    routes
}
