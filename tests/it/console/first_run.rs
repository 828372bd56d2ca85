//! The way of a group's admin who has nothing but LINE and a browser: from the invitation of the bot
//! to the first answer of a rule.

use serde_json::json;

use super::journeys::{PHONE, is_fine, shows};
use crate::harness::browser::Browser;
use crate::harness::oidc::{CLIENT, Provider};
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

/// A person with a browser, who taps and types.
struct Visitor {
    browser: Browser,
    /// Steps done so far.
    steps: Vec<String>,
}

impl Visitor {
    /// Taps what has that text, and waits for the page that it leads to.
    async fn tap(&mut self, text: &str) {
        let script = format!(
            "const found = [...document.querySelectorAll('main a, main button, nav a, body > * button')]
                .filter((one) => one.checkVisibility() && one.textContent.includes({}));
            found[0].click()",
            json!(text)
        );
        self.browser.follow(&script).await;
        self.steps.push(format!("tap “{text}”"));
    }

    /// Types into a field.
    async fn types(&mut self, field: &str, text: &str) {
        let script = format!(
            "const field = document.querySelector('[name={field}]'); field.value = {};
            field.dispatchEvent(new Event('input', {{ bubbles: true }}))",
            json!(text)
        );
        self.browser.script(&script).await;
        self.steps.push(format!("type into “{field}”"));
    }

    async fn looks_fine(&self) {
        let title = self.browser.script("return document.title").await;
        is_fine(&self.browser, &title.to_string()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_admin_gets_from_an_invitation_to_an_answer_without_a_terminal() {
    let line = emulator().await;
    let mut ground = TestEnv::bare(Parts::Embedded).await;
    let base = format!("http://{}", ground.address);
    let provider = Provider::start(&format!("{base}/auth/callback"), "HS256").await;
    ground.settings.extend([
        ("CHATKEEP_API_BASE_URL", base.clone()),
        ("CHATKEEP_LOGIN_ISSUER", provider.issuer()),
        ("CHATKEEP_LOGIN_CLIENT_ID", CLIENT.0.to_owned()),
        ("CHATKEEP_LOGIN_CLIENT_SECRET", CLIENT.1.to_owned()),
    ]);
    let stack = Stack::on(ground, line).await;
    let people = ["林小美", "Aiko"].map(|name| stack.line.add_user(name, None).user_id);
    let group = stack.line.add_group("讀書會", None, &[&people[0], &people[1]]).chat_id;

    // In LINE.
    let steps = ["invite the bot", "say something"].map(str::to_owned).to_vec();
    stack.line.bot_joins(&group).await.unwrap();
    stack.line.say(&group, &people[0], "大家好").await.unwrap();
    stack.drained().await;

    // In a browser.
    let mut visitor = Visitor { browser: Browser::start().await, steps };
    visitor.browser.resize(PHONE.0, PHONE.1).await;
    visitor.browser.open(&format!("{base}/")).await;
    visitor.steps.push("open the address of the service".to_owned());
    visitor.looks_fine().await;
    visitor.tap("Sign in").await;
    sign_in(&visitor.browser, &people[0]).await;
    visitor.steps.push("allow it at LINE".to_owned());
    visitor.looks_fine().await;
    visitor.tap("讀書會").await;
    visitor.looks_fine().await;
    visitor.tap("Back up this chat").await;
    visitor.looks_fine().await;
    visitor.tap("Assistant").await;
    visitor.tap("Rules").await;
    visitor.looks_fine().await;
    visitor.tap("Add rule").await;
    visitor.types("keywords", "幾點").await;
    visitor.types("answer", "晚上七點").await;
    visitor.tap("Add rule").await;
    visitor.looks_fine().await;

    // Back in LINE.
    visitor.steps.push("ask in the group".to_owned());
    let asked = stack.line.say(&group, &people[1], "幾點").await.unwrap();
    let replies = stack.line.wait_for_replies(asked.event_id().unwrap(), 1, DEADLINE).await;
    let texts: Vec<_> =
        replies.iter().map(|reply| reply.text.as_deref().unwrap_or_default()).collect();
    assert_eq!(texts, ["晚上七點"], "{:#?}", visitor.steps);
    assert_eq!(visitor.steps.len(), 14, "{:#?}", visitor.steps);
    visitor.browser.close().await;
}

/// Signs a person in at the provider, which asks for a name and then for consent.
async fn sign_in(browser: &Browser, person: &str) {
    let login = format!(
        "const login = document.querySelector('[name=login]');
        if (!login) return false;
        login.value = {};
        document.querySelector('[name=password]').value = 'x';
        login.form.submit();
        return true",
        json!(person)
    );
    shows(browser, &login, &json!(true)).await;
    let consent =
        "const form = [...document.forms].find((one) => !one.querySelector('[name=login]'));
        form?.submit();
        return Boolean(form)";
    shows(browser, consent, &json!(true)).await;
    shows(browser, "return location.pathname", &json!("/console")).await;
    shows(browser, "return document.readyState", &json!("complete")).await;
}
