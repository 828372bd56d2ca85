//! Scripts of the sample groups: what is said in them, and the rules of their assistants.
//!
//! A script is a text file. `slot name = a | b` are choices for `{name}`, `rule name = keywords |
//! question | answer` is a rule, `ask a | b` is a question without one, in several wordings,
//! `grouprules` are the group rules. A line `-- noon` begins a
//! conversation at that time of the day (`once`: only once in a history; `once=12-24`: on that day
//! of the year). In it, `A: text` is said
//! by somebody, the same person for the same letter, `O` by the owner. `A>:` replies to the line
//! before, `A~:` is unsent later, `old => new` is edited. `@B` mentions. `[photo]`, `[sticker
//! word]`, `[file name]` and `[place title|address|latitude|longitude]` are other messages.

use anyhow::{Context as _, bail};

/// Script of a group.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) slots: Vec<(String, Vec<String>)>,
    pub(super) rules: Vec<ScriptRule>,
    /// Questions without a rule, each in several wordings.
    pub(super) asks: Vec<Vec<String>>,
    pub(super) group_rules: String,
    pub(super) talks: Vec<Talk>,
}

/// Rule of the group's assistant.
#[derive(Debug)]
pub(super) struct ScriptRule {
    pub(super) name: String,
    pub(super) keywords: Vec<String>,
    pub(super) question: String,
    pub(super) answer: String,
}

/// A conversation.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) hours: Hours,
    pub(super) often: Often,
    pub(super) lines: Vec<ScriptLine>,
}

/// Number of times that a conversation takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Often {
    /// Again and again.
    Always,
    /// Once, on some day.
    Once,
    /// Once, on that day of the year: month and day.
    On(u32, u32),
}

/// Time of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hours {
    Morning,
    Noon,
    Evening,
    Night,
}

/// Something said in a conversation.
#[derive(Debug)]
pub(super) struct ScriptLine {
    /// Letter of the speaker.
    pub(super) who: char,
    pub(super) what: What,
    /// True if it replies to the line before.
    pub(super) replies: bool,
    /// True if it is unsent later.
    pub(super) unsent: bool,
}

/// Message of a script.
#[derive(Debug, PartialEq)]
pub(super) enum What {
    /// Text, and what it is edited to.
    Text(String, Option<String>),
    Photo,
    Sticker(String),
    File(String),
    Place {
        title: String,
        address: String,
        latitude: f64,
        longitude: f64,
    },
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// Returns an error that names the line that it does not understand.
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let mut script = Self::default();
        for (line, number) in text.lines().zip(1..) {
            script.line(line).with_context(|| format!("line {number}: {line}"))?;
        }
        Ok(script)
    }

    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if let Some(about) = line.strip_prefix("-- ") {
            self.talks.push(Talk::begin(about)?);
        } else if let Some(text) = line.strip_prefix("grouprules ") {
            self.group_rules = text.replace("\\n", "\n");
        } else if let Some(slot) = line.strip_prefix("slot ") {
            let (name, choices) = slot.split_once(" = ").context("no choices")?;
            self.slots.push((name.to_owned(), list(choices, " | ")));
        } else if let Some(wordings) = line.strip_prefix("ask ") {
            self.asks.push(list(wordings, " | "));
        } else if let Some(rule) = line.strip_prefix("rule ") {
            self.rules.push(ScriptRule::read(rule)?);
        } else {
            let talk = self.talks.last_mut().context("no conversation has begun")?;
            talk.lines.push(ScriptLine::read(line)?);
        }
        Ok(())
    }
}

impl ScriptRule {
    fn read(text: &str) -> anyhow::Result<Self> {
        let (name, rest) = text.split_once(" = ").context("no keywords")?;
        let parts = list(rest, " | ");
        let [keywords, question, answer] = &parts[..] else { bail!("not three parts") };
        Ok(Self {
            name: name.to_owned(),
            keywords: list(keywords, ", "),
            question: question.clone(),
            answer: answer.clone(),
        })
    }
}

impl Talk {
    fn begin(about: &str) -> anyhow::Result<Self> {
        let mut talk = Self { hours: Hours::Noon, often: Often::Always, lines: Vec::new() };
        for word in about.split(' ') {
            match word {
                "morning" => talk.hours = Hours::Morning,
                "noon" => talk.hours = Hours::Noon,
                "evening" => talk.hours = Hours::Evening,
                "night" => talk.hours = Hours::Night,
                "once" => talk.often = Often::Once,
                _ => {
                    let date = word.strip_prefix("once=").and_then(|date| date.split_once('-'));
                    let (month, day) = date.with_context(|| format!("unknown time {word}"))?;
                    talk.often = Often::On(month.parse()?, day.parse()?);
                }
            }
        }
        Ok(talk)
    }
}

impl ScriptLine {
    fn read(line: &str) -> anyhow::Result<Self> {
        let (head, text) = line.split_once(": ").context("nobody speaks")?;
        let who = head.chars().next().filter(char::is_ascii_uppercase).context("nobody speaks")?;
        let (replies, unsent) = match &head[1..] {
            "" => (false, false),
            ">" => (true, false),
            "~" => (false, true),
            _ => bail!("unknown mark"),
        };
        Ok(Self { who, what: What::read(text)?, replies, unsent })
    }
}

impl What {
    fn read(text: &str) -> anyhow::Result<Self> {
        let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
            let (text, edited) = match text.split_once(" => ") {
                Some((old, new)) => (old, Some(new.to_owned())),
                None => (text, None),
            };
            return Ok(Self::Text(text.to_owned(), edited));
        };
        let (kind, rest) = inner.split_once(' ').unwrap_or((inner, ""));
        Ok(match kind {
            "photo" => Self::Photo,
            "sticker" => Self::Sticker(rest.to_owned()),
            "file" => Self::File(rest.to_owned()),
            "place" => {
                let parts = list(rest, "|");
                let [title, address, latitude, longitude] = &parts[..] else {
                    bail!("not a place")
                };
                let (latitude, longitude) = (latitude.parse()?, longitude.parse()?);
                Self::Place { title: title.clone(), address: address.clone(), latitude, longitude }
            }
            _ => bail!("unknown message {kind}"),
        })
    }
}

fn list(text: &str, by: &str) -> Vec<String> {
    text.split(by).map(|part| part.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_says_is_read_and_what_it_cannot_say_is_refused() {
        let text = "# about\nslot n = 1 | 2\nrule a = b, c | q | d\ngrouprules x\\ny\n\n\
                    -- night once=12-24\nA: hi {n}\nO>: old => new\nB~: oops\n\
                    B: [place Bar|Street 1|1.5|-2]\nA: [sticker ok]";
        let script = Script::read(text).unwrap();
        assert_eq!(script.slots, [("n".to_owned(), vec!["1".to_owned(), "2".to_owned()])]);
        assert_eq!((script.rules[0].keywords.len(), script.group_rules.as_str()), (2, "x\ny"));
        let talk = &script.talks[0];
        assert!(
            talk.often == Often::On(12, 24) && talk.hours == Hours::Night && talk.lines.len() == 5
        );
        let edited = What::Text("old".to_owned(), Some("new".to_owned()));
        assert!(talk.lines[1].replies && talk.lines[1].what == edited && talk.lines[2].unsent);
        for bad in ["A: lost", "-- dawn", "-- noon\nA; x", "-- noon\nA!: x", "-- noon\nA: [gif]"] {
            assert!(Script::read(bad).is_err(), "{bad}");
        }
    }
}
