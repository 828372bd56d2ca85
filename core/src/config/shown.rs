//! Settings as a file that anybody may see: what is a secret stays out.

use toml::{Table, Value};

use super::layers::Layers;
use super::line::SECTION;
use super::redact::{is_secret, may_hold_password, public};

/// Comment at the top of the file.
const HEAD: &str =
    "# Settings in force, without secrets. What is commented out has to be set again.\n";

impl Layers {
    /// Returns all settings as the text of a settings file. Secrets are comments without a value,
    /// and so are addresses that hold a password.
    pub(super) fn shown(&self) -> String {
        let (mut tree, mut left_out) = (Table::new(), String::new());
        for (key, (value, _)) in &self.values {
            match hidden(key, value) {
                Some(note) => left_out.push_str(&note),
                None => insert(&mut tree, key, value.clone()),
            }
        }
        if !self.bots.is_empty() {
            self.list_bots(&mut tree);
        }
        // What was read from TOML can be written as TOML.
        format!("{HEAD}{left_out}\n{}", toml::to_string(&tree).unwrap_or_default())
    }

    /// Makes a list of the bots' sections, as they are written.
    fn list_bots(&self, tree: &mut Table) {
        let Some(Value::Table(mut sections)) = tree.remove(SECTION) else { return };
        let bots = self.bots.iter().filter_map(|name| match sections.remove(name) {
            Some(Value::Table(mut bot)) => {
                bot.insert("name".to_owned(), name.clone().into());
                Some(Value::Table(bot))
            }
            _ => None,
        });
        let bots = Value::Array(bots.collect());
        tree.insert(SECTION.to_owned(), bots);
    }
}

/// Returns the comment in place of a setting that holds a secret.
fn hidden(key: &str, value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.trim().is_empty())?;
    if !is_secret(key) {
        return may_hold_password(text).then(|| format!("# {key}: {}\n", public(text)));
    }
    let public = match key {
        "database" | "bus" if !text.contains("://") => return None,
        "database" | "bus" => public(text),
        _ => "a secret".to_owned(),
    };
    Some(format!("# {key}: {public}\n"))
}

fn insert(tree: &mut Table, key: &str, value: Value) {
    let Some((section, rest)) = key.split_once('.') else {
        tree.insert(key.to_owned(), value);
        return;
    };
    let inner = tree.entry(section).or_insert_with(|| Table::new().into());
    if let Value::Table(inner) = inner {
        insert(inner, rest, value);
    }
}
