//! The objects of `deploy/kubernetes`: rendered and checked without a cluster, and their containers
//! as processes of this machine, on a NATS cluster of the named version with the shipped settings,
//! PostgreSQL and S3.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use chatkeep_emulator::{Emulator, Media};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::postgres::{Postgres, TestDb};
use crate::harness::process::{Process, Program};
use crate::harness::s3::S3;
use crate::harness::wait::{DEADLINE, until, until_is};
use crate::harness::{http, ports, scratch};
use crate::pipeline::conversation::emulator;
use crate::stack::{SECRET, TOKEN};

/// Timeout of rendering, long enough for a loaded machine.
const RENDERING: Duration = Duration::from_mins(5);
const PASSWORD: &str = "n0123456789abcdef";
/// The server of the pods.
const NATS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nats/.venv/bin/nats-server");
/// Folders inside the containers.
const SECRETS: &str = "/etc/chatkeep-secrets/";
const SETTINGS: &str = "/etc/chatkeep/chatkeep.toml";

/// Rendered objects.
struct Objects(Vec<Value>);

impl Objects {
    async fn render() -> Self {
        let python = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kubernetes/.venv/bin/python");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kubernetes/render");
        let mut render = Program::new(python).args([script]).start();
        let status = render.finish_within(RENDERING).await;
        assert!(status.success(), "{}", render.stderr().join("\n"));
        Self(serde_json::from_str(&render.stdout().join("\n")).unwrap())
    }

    /// Returns a file of the `ConfigMap` whose generated name begins so.
    fn file(&self, name: &str, key: &str) -> &str {
        let is_it = |one: &&Value| {
            let found = one["metadata"]["name"].as_str().unwrap();
            one["kind"] == "ConfigMap" && found.starts_with(name)
        };
        self.0.iter().find(is_it).unwrap()["data"][key].as_str().unwrap()
    }

    /// Returns the workload of that name.
    fn workload(&self, name: &str) -> &Value {
        let is_it =
            |one: &&Value| one["metadata"]["name"] == name && !one["spec"]["template"].is_null();
        self.0.iter().find(is_it).unwrap()
    }
}

/// Returns the strings of a list.
fn strings(list: &Value) -> Vec<String> {
    let strings = list.as_array().unwrap().iter();
    strings.map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// Servers inside and outside of the cluster that pods use.
struct Cluster {
    objects: Objects,
    line: Emulator,
    database: TestDb,
    s3: S3,
    folder: TempDir,
    /// Killed with this value.
    nats: Vec<Process>,
}

impl Cluster {
    async fn start() -> Self {
        let (objects, database) = tokio::join!(Objects::render(), Postgres::database());
        let folder = scratch::folder("kubernetes-");
        let (line, s3) = (emulator().await, S3::start());
        let mut cluster = Self { objects, line, database, s3, folder, nats: Vec::new() };
        let bus = cluster.start_nats().await;
        cluster.write_secrets(&bus);
        cluster
    }

    /// Starts the NATS servers with their settings until they are ready for pods, and returns the
    /// secret with their addresses.
    async fn start_nats(&mut self) -> String {
        let workload = self.objects.workload("nats");
        let replicas = workload["spec"]["replicas"].as_u64().unwrap();
        let container = &workload["spec"]["template"]["spec"]["containers"][0];
        let [clients, peers, monitors] =
            [(); 3].map(|()| (0..replicas).map(|_| ports::free()).collect::<Vec<_>>());
        let mut routes = strings(&container["args"]).pop().unwrap();
        for (n, peer) in peers.iter().enumerate() {
            let name = format!("nats-{n}.nats-peers:6222");
            assert!(routes.contains(&name), "{routes}");
            routes = routes.replace(&name, &peer.to_string());
        }
        let routes = routes.replace("$(NATS_PASSWORD)", PASSWORD);
        for (n, (client, peer)) in clients.iter().zip(&peers).enumerate() {
            let folder = self.folder.path().join(format!("nats-{n}"));
            fs::create_dir(&folder).unwrap();
            let mut settings = self.objects.file("nats-settings", "nats.conf").to_owned();
            for (inside, here) in [
                ("0.0.0.0:4222", client.to_string()),
                ("0.0.0.0:6222", peer.to_string()),
                ("0.0.0.0:8222", monitors[n].to_string()),
                ("/tmp/nats.pid", folder.join("nats.pid").display().to_string()),
                ("\"/data\"", format!("\"{}\"", folder.display())),
            ] {
                assert!(settings.contains(inside), "{inside} is not there");
                settings = settings.replace(inside, &here);
            }
            let file = folder.join("nats.conf");
            fs::write(&file, settings).unwrap();
            let server = Program::new(NATS)
                .args(["--config", file.to_str().unwrap(), "--routes", &routes])
                .env("POD_NAME", format!("nats-{n}"))
                .env("NATS_PASSWORD", PASSWORD)
                .start();
            self.nats.push(server);
        }
        let path = container["startupProbe"]["httpGet"]["path"].as_str().unwrap();
        for (server, monitor) in self.nats.iter_mut().zip(monitors) {
            server.ready(monitor, path).await;
        }
        let servers: Vec<_> = clients.iter().map(ToString::to_string).collect();
        format!("nats://chatkeep:{PASSWORD}@{}", servers.join(","))
    }

    /// Writes the files that pods mount, with paths of this machine.
    fn write_secrets(&self, bus: &str) {
        let of_s3 = |wanted: &str| {
            let mut variables = self.s3.environment().into_iter();
            variables.find(|(name, _)| *name == wanted).unwrap().1
        };
        let secrets = [
            ("bus_url", bus.to_owned()),
            ("database_url", self.database.url()),
            ("line_access_token", TOKEN.to_owned()),
            ("line_channel_secret", SECRET.to_owned()),
            ("s3_access_key_id", of_s3("CHATKEEP_S3_ACCESS_KEY_ID")),
            ("s3_secret_access_key", of_s3("CHATKEEP_S3_SECRET_ACCESS_KEY")),
        ];
        let folder = self.folder.path().join("secrets");
        fs::create_dir(&folder).unwrap();
        for (name, secret) in secrets {
            // As typed: with the end of the line.
            fs::write(folder.join(name), format!("{secret}\n")).unwrap();
        }
        let settings = self.objects.file("chatkeep-settings", "chatkeep.toml");
        let settings = settings.replace(SECRETS, &format!("{}/", folder.display()));
        fs::write(self.settings(), settings).unwrap();
    }

    fn settings(&self) -> PathBuf {
        self.folder.path().join("chatkeep.toml")
    }

    /// Returns the program as the container of a workload runs it, in the pod of that number.
    fn container(&self, workload: &str, number: usize, args: &[String]) -> Program {
        let spec = &self.objects.workload(workload)["spec"]["template"]["spec"]["containers"][0];
        let mounts = spec["volumeMounts"].as_array().unwrap();
        for path in [SECRETS, SETTINGS] {
            let is_in = |mount: &Value| path.starts_with(mount["mountPath"].as_str().unwrap());
            assert!(mounts.iter().any(is_in), "{workload} has no {path}");
        }
        let root = self.folder.path().join(format!("{workload}-{number}"));
        fs::create_dir_all(root.join("data")).unwrap();
        let mut program = Program::chatkeep()
            .args(args.iter().map(String::as_str))
            .folder(&root)
            .env("CHATKEEP_CONFIG", self.settings())
            .env("CHATKEEP_METRICS_LISTEN", ports::free().to_string())
            .env("CHATKEEP_LINE_API_BASE", self.line.api_base())
            .env("CHATKEEP_LINE_DATA_API_BASE", self.line.api_base());
        for (name, value) in self.s3.environment() {
            // The keys are secrets of the pod.
            if !name.contains("KEY") {
                program = program.env(name, value);
            }
        }
        for variable in spec["env"].as_array().unwrap() {
            let value = variable["value"].as_str().unwrap().trim_start_matches('/');
            program = program.env(variable["name"].as_str().unwrap(), root.join(value));
        }
        program
    }

    /// Starts the pod of that number of a workload; it may not be ready yet.
    fn pod(&self, workload: &'static str, number: usize) -> Pod {
        let spec = &self.objects.workload(workload)["spec"]["template"]["spec"];
        let address = ports::free();
        let args = strings(&spec["containers"][0]["args"]);
        let program = self.container(workload, number, &args);
        // The image's own settings, and a port for each pod.
        let process = program.env("CHATKEEP_LISTEN", address.to_string()).start();
        Pod { workload, number, address, process }
    }

    /// Runs a command in a pod and returns its output.
    async fn exec(&self, workload: &str, args: &[&str]) -> String {
        let args: Vec<_> = args.iter().map(ToString::to_string).collect();
        let mut command = self.container(workload, 0, &args).start();
        let status = command.finish_within(DEADLINE).await;
        assert!(status.success(), "{args:?}: {}", command.stderr().join("\n"));
        command.stdout().join("\n")
    }
}

/// Process in place of a pod.
struct Pod {
    workload: &'static str,
    number: usize,
    address: SocketAddr,
    process: Process,
}

impl Pod {
    /// Waits until its probes let traffic in.
    async fn ready(&mut self, cluster: &Cluster) {
        let spec = &cluster.objects.workload(self.workload)["spec"]["template"]["spec"];
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let path = spec["containers"][0][probe]["httpGet"]["path"].as_str().unwrap();
            self.process.ready(self.address, path).await;
        }
    }

    /// Replaces it, as a rollout does: the next one is ready before it ends.
    async fn replace(&mut self, cluster: &Cluster, surges: bool) {
        let spec = &cluster.objects.workload(self.workload)["spec"]["template"]["spec"];
        let grace = spec["terminationGracePeriodSeconds"].as_u64().unwrap();
        let pause = &spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"];
        let left = Duration::from_secs(grace - pause.as_u64().unwrap());
        let mut next = None;
        if surges {
            let mut pod = cluster.pod(self.workload, self.number + 100);
            pod.ready(cluster).await;
            next = Some(pod);
        }
        let status = self.process.terminate_within(left).await;
        assert!(status.success(), "{}: {status}", self.workload);
        let mut pod = next.unwrap_or_else(|| cluster.pod(self.workload, self.number));
        pod.ready(cluster).await;
        *self = pod;
    }
}

#[tokio::test]
async fn the_nats_server_of_the_pods_is_tested() {
    let mut server = Program::new(NATS).args(["--version"]).start();
    assert!(server.finish().await.success());
    let image = Objects::render().await.workload("nats")["spec"]["template"]["spec"]["containers"]
        [0]["image"]
        .to_string();
    let (version, _) = image.trim_matches('"').trim_start_matches("nats:").split_once('-').unwrap();
    assert!(server.stdout()[0].contains(&format!("v{version}.")), "{image} {:?}", server.stdout());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pods_of_the_kustomization_keep_everything_while_they_are_replaced() {
    const ROLES: [&str; 3] = ["chatkeep-web", "chatkeep-worker", "chatkeep-search"];
    let cluster = Cluster::start().await;
    // All at once, on an empty database.
    let mut pods: Vec<_> = ROLES
        .into_iter()
        .flat_map(|name| {
            let replicas = cluster.objects.workload(name)["spec"]["replicas"].as_u64().unwrap();
            (0..usize::try_from(replicas).unwrap()).map(move |number| (name, number))
        })
        .map(|(name, number)| cluster.pod(name, number))
        .collect();
    for pod in &mut pods {
        pod.ready(&cluster).await;
    }

    let line = &cluster.line;
    let webhook = |pod: &Pod| {
        line.set_webhook_url(Some(format!("http://{}/webhook/line", pod.address)));
    };
    webhook(&pods[0]);
    let people = ["Ann", "明華"].map(|name| line.add_user(name, None));
    let [ann, ming] = [0, 1].map(|n| people[n].user_id.as_str());
    let group = line.add_group("Test 測試", None, &[ann, ming]).chat_id;
    line.bot_joins(&group).await.unwrap();
    line.say(&group, ann, "before anybody subscribed").await.unwrap();
    cluster.exec("chatkeep-worker", &["user", "add", ann]).await;
    let key = cluster.exec("chatkeep-web", &["key", "create", "--user", ann]).await;
    let client = http::client(DEADLINE);
    let call = async |method: Method, pod: &Pod, path: &str| {
        let url = format!("http://{}/api/channels/{group}{path}", pod.address);
        let answer = client.request(method, url).bearer_auth(&key).json(&json!({})).send().await;
        let answer = answer.ok()?;
        let ok = answer.status() == StatusCode::OK || answer.status() == StatusCode::CREATED;
        if ok { answer.json::<Value>().await.ok() } else { None }
    };
    until("she may subscribe", DEADLINE, async || {
        call(Method::POST, &pods[0], "/backup/subscribe").await.is_some()
    })
    .await;
    line.send_images(&group, ming, vec![Media::new("image/png", vec![1, 2])]).await.unwrap();

    let mut said = 0;
    for number in 0..pods.len() {
        for _ in 0..5 {
            said += 1;
            line.say(&group, ming, &format!("lunch {said}")).await.unwrap();
        }
        // Before a web pod ends, the Service leads to the other one.
        if number < 2 {
            webhook(&pods[1 - number]);
        }
        let surges = pods[number].workload != "chatkeep-search";
        pods[number].replace(&cluster, surges).await;
        line.say(&group, ann, &format!("lunch after {number}")).await.unwrap();
        said += 1;
    }
    for pod in &pods[..2] {
        until_is("everything is found", DEADLINE, Some(json!(said)), async || {
            let found = call(Method::GET, pod, "/backup/search?q=lunch").await;
            found.map(|found| found["total"].clone())
        })
        .await;
    }
    until("the picture is stored", DEADLINE, async || {
        let found = call(Method::GET, &pods[0], "/backup/messages?type=image").await;
        found.is_some_and(|found| found["messages"][0]["mediaStatus"] == "stored")
    })
    .await;
    cluster.exec("chatkeep-worker", &["doctor"]).await;
    assert!(line.violations().is_empty(), "{:?}", line.violations());
}
