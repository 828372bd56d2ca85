//! A real Prometheus that scrapes the program each second.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use reqwest::Client;
use serde_json::Value;
use tempfile::TempDir;

use super::process::{Process, Program};
use super::wait::DEADLINE;
use super::{http, ports, scratch};

/// Server with a port and a store of its own. Dropping it kills it and removes the store.
pub(crate) struct Prometheus {
    address: SocketAddr,
    http: Client,
    _process: Process,
    _folder: TempDir,
}

/// Series of a result: its labels without the name of its metric.
pub(crate) type Series = Vec<(String, String)>;

impl Prometheus {
    /// Starts a server for the metrics at `target`, under the job name that the rules expect.
    pub(crate) async fn start(target: SocketAddr, rules: &Path) -> Self {
        let (folder, address) = (scratch::folder("prometheus-"), ports::free());
        let settings = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             scrape_configs: [{{job_name: chatkeep, static_configs: [{{targets: ['{target}']}}]}}]\n\
             rule_files: ['{}']\n",
            rules.display()
        );
        let (file, store) = (folder.path().join("prometheus.yml"), folder.path().join("store"));
        fs::write(&file, settings).unwrap();
        let mut process = Program::new("prometheus")
            .args([format!("--config.file={}", file.display()).as_str()])
            .args([format!("--storage.tsdb.path={}", store.display()).as_str()])
            .args([format!("--web.listen-address={address}").as_str()])
            .start();
        process.line("Server is ready to receive web requests").await;
        Self { address, http: http::client(DEADLINE), _process: process, _folder: folder }
    }

    /// Returns the series that an expression has now.
    pub(crate) async fn query(&self, expression: &str) -> Vec<Series> {
        let found = self.get("query", &[("query", expression)]).await;
        let labels = |series: &Value| {
            let labels = series["metric"].as_object().into_iter().flatten();
            let labels = labels.filter(|(name, _)| *name != "__name__");
            labels.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
        };
        found["result"].as_array().unwrap().iter().map(labels).collect()
    }

    /// Returns its alert rules with their state and health.
    pub(crate) async fn rules(&self) -> Vec<Value> {
        let found = self.get("rules", &[]).await;
        let groups = found["groups"].as_array().unwrap().iter();
        groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
    }

    async fn get(&self, what: &str, query: &[(&str, &str)]) -> Value {
        let url = format!("http://{}/api/v1/{what}", self.address);
        let answer = self.http.get(url).query(query).send().await.unwrap();
        let (status, mut body): (_, Value) = (answer.status(), answer.json().await.unwrap());
        assert!(status.is_success(), "{query:?}: {body}");
        body["data"].take()
    }
}
