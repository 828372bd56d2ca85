//! Pages for granting and withdrawing consent. They have no script and load nothing.

use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chatkeep_core::role::Scope;
use chatkeep_store::{Channel, Consent};
use sha2::{Digest as _, Sha256};

use super::authorize::ConsentQuestion;
use super::redirect;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:3rem auto;padding:0 1rem;\
color:#1a1a1a;background:#fff}\
fieldset{border:1px solid #888;border-radius:.4rem}\
.channels{list-style:none;margin:.25rem 0;padding-left:1.75rem;max-height:16rem;overflow:auto}\
[role=alert]{color:#b3261e;font-weight:600}\
button{font:inherit;padding:.5rem 1.5rem;margin-right:.5rem;border:1px solid #555;\
border-radius:.4rem;cursor:pointer;background:#fff;color:#1a1a1a}\
button[value=allow]{background:#0a6b3d;border-color:#0a6b3d;color:#fff}\
@media(prefers-color-scheme:dark){body{color:#eee;background:#181818}a{color:#8ab4f8}\
[role=alert]{color:#f2b8b5}}";

/// Consent page.
pub(super) struct ConsentPage<'a> {
    pub(super) question: &'a ConsentQuestion,
    /// Hidden fields that repeat the request.
    pub(super) fields: &'a [(&'static str, &'a str)],
    pub(super) csrf: &'a str,
    /// Name of the person.
    pub(super) person: &'a str,
    /// Channels that they may grant.
    pub(super) channels: &'a [Channel],
    /// Reason for asking again.
    pub(super) hint: Option<&'a str>,
}

impl ConsentPage<'_> {
    /// Returns the page, with a form that cannot be submitted from elsewhere.
    pub(super) fn response(&self) -> Response {
        let question = self.question;
        let name = escaped(&question.client.name);
        let place = escaped(&redirect::place(&question.redirect_uri));
        let may = question.scopes.iter().map(|scope| format!("<li>{}</li>", words(*scope)));
        let hint = self.hint.map(|hint| format!("<p role=\"alert\">{}</p>", escaped(hint)));
        let html = format!(
            "<h1>Let {name} read for you?</h1>\
             <p>You are signed in as <strong>{}</strong>. <strong>{name}</strong> asks to</p>\
             <ul>{}</ul>{}\
             <form method=\"post\" action=\"/oauth/authorize\">{}{}\
             <p>It can change nothing, and you can <a href=\"/oauth/consents\">take it back</a>. \
             The name is what it calls itself. If you agree you are sent to \
             <strong>{place}</strong>; agree only if that is where you came from.</p>\
             <button name=\"decision\" value=\"allow\">Allow</button>\
             <button name=\"decision\" value=\"deny\">Deny</button></form>",
            escaped(self.person),
            may.collect::<String>(),
            hint.unwrap_or_default(),
            self.hidden(),
            self.reach(),
        );
        framed(&html, &redirect::source(&question.redirect_uri).unwrap_or_default())
    }

    fn hidden(&self) -> String {
        let token = [("csrf", self.csrf)];
        let fields = self.fields.iter().chain(&token).map(|(name, value)| {
            format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", escaped(value))
        });
        fields.collect()
    }

    /// Returns the choice between all channels and some.
    fn reach(&self) -> String {
        let every = if self.hint.is_none() { " checked" } else { "" };
        let only = if self.hint.is_some() { " checked" } else { "" };
        let boxes = self.channels.iter().map(|channel| {
            let id = escaped(channel.id.as_str());
            let name = channel.name.as_deref().map_or_else(|| id.clone(), escaped);
            format!(
                "<li><label><input type=\"checkbox\" name=\"channel\" value=\"{id}\"> \
                 {name}</label></li>"
            )
        });
        format!(
            "<fieldset><legend>in</legend>\
             <label><input type=\"radio\" name=\"reach\" value=\"all\"{every}> \
             every channel that you may read, later ones too</label><br>\
             <label><input type=\"radio\" name=\"reach\" value=\"chosen\"{only}> \
             only these:</label><ul class=\"channels\">{}</ul></fieldset>",
            boxes.collect::<String>()
        )
    }
}

/// Returns the page of a person's consents, each with a form to withdraw it.
pub(super) fn list(consents: &[Consent], csrf: &str, person: &str) -> Response {
    let rows = consents.iter().map(|consent| {
        format!(
            "<li><form method=\"post\" action=\"/oauth/consents\"><strong>{}</strong> in {} \
             since {} \
             <input type=\"hidden\" name=\"id\" value=\"{}\">\
             <input type=\"hidden\" name=\"csrf\" value=\"{}\">\
             <button>Take back</button></form></li>",
            escaped(&consent.client_name),
            match consent.channels {
                None => "every channel".to_owned(),
                Some(1) => "1 channel".to_owned(),
                Some(count) => format!("{count} channels"),
            },
            consent.created_at,
            escaped(&consent.id),
            escaped(csrf),
        )
    });
    let rows = rows.collect::<String>();
    let rows = if rows.is_empty() { "<li>None.</li>".to_owned() } else { rows };
    let html = format!("<h1>Programs that read for {}</h1><ul>{rows}</ul>", escaped(person));
    framed(&html, "")
}

fn framed(body: &str, program: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Chatkeep</title>\
         <style>{STYLE}</style></head><body><main>{body}</main></body></html>"
    );
    let mut response = Html(html).into_response();
    if let Ok(policy) = HeaderValue::from_str(&policy(program)) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns the content security policy: forms lead here and from here to the client, nowhere else.
fn policy(program: &str) -> String {
    let style = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self' {program}; \
         base-uri 'none'; frame-ancestors 'none'"
    )
}

const fn words(scope: Scope) -> &'static str {
    match scope {
        Scope::ReadMembers => "see who is in the channels",
        _ => "read and search the messages",
    }
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        assert_eq!(escaped("<a href='x'>\"&"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
    }
}
