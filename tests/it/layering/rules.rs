//! Table of the borders: the crates and modules that each may use. A new crate gets a place in
//! [`CRATES`], a new module of the crate `chatkeep` one in [`LAYERS`].
//!
//! The rules are as narrow as what the code needs: an exception that nothing needs any more is an
//! error, so that nobody takes it up again.

/// Modules of the program that follow the same rule.
pub(super) struct Layer {
    pub(super) name: &'static str,
    /// Modules right below the crate `chatkeep`.
    pub(super) modules: &'static [&'static str],
    /// Names of the layers whose modules they may use.
    pub(super) may_use: &'static [&'static str],
    /// Reason for no more than that.
    pub(super) why: &'static str,
}

/// Layers of the crate `chatkeep`, lowest first.
pub(super) const LAYERS: &[Layer] = &[
    Layer {
        name: "base",
        modules: &["private"],
        may_use: &["base"],
        why: "helpers know nothing of the program",
    },
    Layer {
        name: "edges",
        modules: &["login", "oauth", "ops"],
        may_use: &["base"],
        why: "an edge translates for services and knows no other edge; what two edges need belongs \
              into a service, or into `chatkeep-http`",
    },
    Layer {
        name: "assembly",
        modules: &["app"],
        may_use: &["base", "edges"],
        why: "a process is put together from its parts and does not know who starts it",
    },
    Layer {
        name: "commands",
        modules: &["cli", "demo"],
        may_use: &["base", "edges", "assembly"],
        why: "nobody uses a command",
    },
];

/// Use that the layers forbid.
pub(super) struct Exception {
    /// Module that uses it.
    pub(super) module: &'static str,
    /// Path that it may use, with all that is below it.
    pub(super) path: &'static str,
    pub(super) why: &'static str,
}

const fn exception(module: &'static str, path: &'static str, why: &'static str) -> Exception {
    Exception { module, path, why }
}

/// Exceptions from [`LAYERS`].
pub(super) const EXCEPTIONS: &[Exception] = &[
    exception("cli", "demo", "it is one of the commands"),
    exception("demo", "cli::on_signal", "it ends by the same signals as every command"),
];

/// Libraries that only some modules of the crate `chatkeep` may name.
pub(super) struct Library {
    pub(super) crates: &'static [&'static str],
    /// Layers and modules that may name them.
    pub(super) users: &'static [&'static str],
    pub(super) why: &'static str,
}

/// Libraries with a border inside of the crate `chatkeep`.
pub(super) const LIBRARIES: &[Library] = &[
    Library {
        crates: &["axum", "tower"],
        users: &["edges", "assembly", "commands"],
        why: "HTTP ends at the edges",
    },
    Library {
        crates: &["askama"],
        users: &["demo", "oauth"],
        why: "pages are written in few places",
    },
    Library { crates: &["openidconnect"], users: &["login"], why: "sign-in is in one place" },
    Library { crates: &["clap"], users: &["commands"], why: "arguments end at the commands" },
    Library {
        crates: &["chatkeep_emulator"],
        users: &["demo"],
        why: "the service must not know that its platform is emulated",
    },
];

/// Libraries that only some crates of the workspace may depend on, but for their tests.
pub(super) struct CrateLibrary {
    pub(super) libraries: &'static [&'static str],
    /// Crates that may depend on them.
    pub(super) users: &'static [&'static str],
    pub(super) why: &'static str,
}

/// Libraries with a border between the crates.
pub(super) const CRATE_LIBRARIES: &[CrateLibrary] = &[
    CrateLibrary {
        libraries: &["age"],
        users: &["chatkeep-services"],
        why: "encryption of snapshots is a matter of their service",
    },
    CrateLibrary {
        libraries: &["askama"],
        users: &["chatkeep", "chatkeep-console", "chatkeep-transfer", "chatkeep-view"],
        why: "pages are written in few places",
    },
    CrateLibrary {
        libraries: &["axum"],
        users: &[
            "chatkeep",
            "chatkeep-api",
            "chatkeep-console",
            "chatkeep-emulator",
            "chatkeep-http",
            "chatkeep-ingress",
            "chatkeep-mcp",
        ],
        why: "HTTP ends at the edges",
    },
    CrateLibrary {
        libraries: &["cookie"],
        users: &["chatkeep-console", "chatkeep-http"],
        why: "cookies are for browsers",
    },
    CrateLibrary {
        libraries: &["hyper", "hyper-util", "tower-http"],
        users: &["chatkeep-http"],
        why: "connections are accepted in one place, and all surfaces have the same layers",
    },
    CrateLibrary {
        libraries: &["clap", "openidconnect"],
        users: &["chatkeep"],
        why: "arguments end at the commands, and sign-in is in one place",
    },
    CrateLibrary { libraries: &["rmcp"], users: &["chatkeep-mcp"], why: "MCP ends at its edge" },
    CrateLibrary {
        libraries: &["utoipa"],
        users: &["chatkeep-api", "chatkeep-http", "chatkeep-view"],
        why: "the OpenAPI document describes DTOs: the domain, its ports and the stages know none",
    },
    CrateLibrary {
        libraries: &["utoipa-config"],
        users: &["chatkeep-api", "chatkeep-view"],
        why: "the OpenAPI document describes DTOs: the domain, its ports and the stages know none",
    },
    CrateLibrary {
        libraries: &["utoipa-swagger-ui-vendored"],
        users: &["chatkeep-api"],
        why: "the page of the OpenAPI document is part of the API",
    },
];

/// Functions that only some modules may call.
pub(super) struct Privilege {
    /// Last segments of its path.
    pub(super) path: [&'static str; 2],
    pub(super) callers: &'static [&'static str],
    pub(super) why: &'static str,
}

/// Functions of the program with a border of their own.
pub(super) const PRIVILEGES: &[Privilege] = &[Privilege {
    path: ["Operator", "at_command_line"],
    callers: &["cli::context", "demo::key", "demo::sample", "services::tests"],
    why: "requests have callers, whose permissions count",
}];

/// Handles on what is stored and sent, by their names.
pub(super) const HANDLES: [&str; 3] = ["Blobs", "Bus", "Store"];

/// Methods of a store that everybody may call: they reach no data.
pub(super) const STORE_METHODS: [&str; 2] = ["clone", "close"];

/// Modules above the services that may name a handle and use a store, each with its reason. Those
/// of a crate in `src/` begin with the name of its folder.
pub(super) const HANDLE_USERS: &[(&str, &str)] = &[
    ("api::tests", "they open the services that they ask, and fill them"),
    ("app", "it opens them"),
    ("cli::context", "commands open them, too"),
    ("cli::doctor", "it compares what is in each of them"),
    ("console::tests", "as those of the API"),
    ("demo", "it stores sample histories, and looks whether what the emulator sent is stored"),
    ("http::rate_limit", "processes tell each other over the bus what they granted"),
    ("mcp::tests", "as those of the API"),
    ("oauth::tests", "as those of the API"),
    ("ops", "it asks whether they can be reached"),
];

/// Crates of the workspace, and which of them each may use.
pub(super) const CRATES: &[(&str, &[&str])] = &[
    ("chatkeep-blobs", &["chatkeep-core"]),
    ("chatkeep-bus", &["chatkeep-core"]),
    ("chatkeep-core", &[]),
    ("chatkeep-platform", &["chatkeep-core"]),
    ("chatkeep-store", &["chatkeep-core"]),
    ("chatkeep-emulator", &[]),
    ("chatkeep-i18n", &[]),
    ("chatkeep-index", &[]),
    ("chatkeep-samples", &[]),
    (
        "chatkeep-workers",
        &[
            "chatkeep-blobs",
            "chatkeep-bus",
            "chatkeep-core",
            "chatkeep-i18n",
            "chatkeep-index",
            "chatkeep-platform",
            "chatkeep-store",
        ],
    ),
    ("chatkeep-view", &["chatkeep-core", "chatkeep-index", "chatkeep-store"]),
    (
        "chatkeep-search",
        &[
            "chatkeep-bus",
            "chatkeep-core",
            "chatkeep-index",
            "chatkeep-store",
            "chatkeep-view",
            "chatkeep-workers",
        ],
    ),
    (
        "chatkeep-transfer",
        &[
            "chatkeep-blobs",
            "chatkeep-core",
            "chatkeep-i18n",
            "chatkeep-index",
            "chatkeep-store",
            "chatkeep-view",
        ],
    ),
    (
        "chatkeep-services",
        &[
            "chatkeep-blobs",
            "chatkeep-bus",
            "chatkeep-core",
            "chatkeep-i18n",
            "chatkeep-index",
            "chatkeep-platform",
            "chatkeep-search",
            "chatkeep-store",
            "chatkeep-transfer",
            "chatkeep-view",
            "chatkeep-workers",
        ],
    ),
    (
        "chatkeep-http",
        &[
            "chatkeep-bus",
            "chatkeep-core",
            "chatkeep-services",
            "chatkeep-store",
            "chatkeep-transfer",
            "chatkeep-view",
            "chatkeep-workers",
        ],
    ),
    (
        "chatkeep-api",
        &[
            "chatkeep-core",
            "chatkeep-http",
            "chatkeep-i18n",
            "chatkeep-search",
            "chatkeep-services",
            "chatkeep-store",
            "chatkeep-transfer",
            "chatkeep-view",
        ],
    ),
    (
        "chatkeep-ingress",
        &[
            "chatkeep-bus",
            "chatkeep-core",
            "chatkeep-http",
            "chatkeep-platform",
            "chatkeep-workers",
        ],
    ),
    (
        "chatkeep-mcp",
        &[
            "chatkeep-core",
            "chatkeep-http",
            "chatkeep-index",
            "chatkeep-search",
            "chatkeep-services",
            "chatkeep-store",
            "chatkeep-view",
        ],
    ),
    (
        "chatkeep-console",
        &[
            "chatkeep-core",
            "chatkeep-http",
            "chatkeep-i18n",
            "chatkeep-index",
            "chatkeep-search",
            "chatkeep-services",
            "chatkeep-store",
            "chatkeep-transfer",
            "chatkeep-view",
        ],
    ),
    (
        "chatkeep",
        &[
            "chatkeep-api",
            "chatkeep-blobs",
            "chatkeep-bus",
            "chatkeep-console",
            "chatkeep-core",
            "chatkeep-emulator",
            "chatkeep-http",
            "chatkeep-i18n",
            "chatkeep-index",
            "chatkeep-ingress",
            "chatkeep-mcp",
            "chatkeep-platform",
            "chatkeep-samples",
            "chatkeep-search",
            "chatkeep-services",
            "chatkeep-store",
            "chatkeep-transfer",
            "chatkeep-view",
            "chatkeep-workers",
        ],
    ),
];

/// Crates of the workspace that others may use in their tests alone.
pub(super) const TEST_CRATES: &[(&str, &str)] = &[
    ("chatkeep-api", "chatkeep-blobs"),
    ("chatkeep-api", "chatkeep-bus"),
    ("chatkeep-api", "chatkeep-index"),
    ("chatkeep-api", "chatkeep-platform"),
    ("chatkeep-api", "chatkeep-workers"),
    ("chatkeep-console", "chatkeep-blobs"),
    ("chatkeep-console", "chatkeep-bus"),
    ("chatkeep-console", "chatkeep-platform"),
    ("chatkeep-console", "chatkeep-workers"),
    ("chatkeep-mcp", "chatkeep-blobs"),
    ("chatkeep-mcp", "chatkeep-bus"),
    ("chatkeep-mcp", "chatkeep-platform"),
    ("chatkeep-mcp", "chatkeep-workers"),
    ("chatkeep-workers", "chatkeep-emulator"),
];

/// Public functions of libraries whose futures cannot be boxed: the compiler does not see that they
/// are `Send` ("not general enough").
pub(super) const UNBOXED: &[(&str, &str)] =
    &[("src/services/snapshots/create.rs", "create"), ("src/services/snapshots/prune.rs", "prune")];

/// Functions of the store that change many rows, and whose names do not say so as `purge_` and
/// `sweep` do.
pub(super) const BULK: &[&str] = &["forget_abandoned", "redeliver_since"];
