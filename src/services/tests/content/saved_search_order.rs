//! The channels of a saved search are a set: in another order they are the same ones.

use chrono_tz::Tz;
use sqlx::{Connection as _, SqliteConnection};

use super::super::{Group, OWNER, caller};
use crate::Nullable;
use crate::access::ManageWebhooks;
use crate::saved_searches::{SavedSearchDraft, SavedSearchService, SavedSearchUpdate};

#[tokio::test]
async fn a_search_of_the_same_channels_in_another_order_does_not_begin_anew() {
    let group = Group::new().await;
    let service = SavedSearchService::new(group.store.clone(), group.clock.clone(), Tz::UTC);
    let access = group.access.scoped::<ManageWebhooks>(caller(OWNER)).unwrap();
    let ids = |ids: [&str; 2]| ids.map(str::to_owned).to_vec();
    let draft = SavedSearchDraft {
        name: "tea".to_owned(),
        query: "tea".to_owned(),
        channels: Some(ids(["C1", "C2"])),
        enabled: true,
    };
    let saved = service.create(&access, draft).await.unwrap();
    let channels = Nullable::To(Some(ids(["C2", "C1"])));
    let update = SavedSearchUpdate { channels, ..SavedSearchUpdate::default() };
    assert_eq!(service.change(&access, &saved.id, update.clone()).await.unwrap(), saved);
    let renamed = SavedSearchUpdate { name: Some("green tea".to_owned()), ..update };
    let renamed = service.change(&access, &saved.id, renamed).await.unwrap();
    assert_eq!((renamed.name.as_str(), &renamed.channels), ("green tea", &saved.channels));
    // Else what was logged until now is not told, and what was told is told again.
    let file = format!("sqlite://{}/chatkeep.db", group.folder.path().display());
    let mut connection = SqliteConnection::connect(&file).await.unwrap();
    let mut begun = async || {
        let begun = "SELECT COUNT(*) FROM saved_searches WHERE generation > 0";
        let begun = sqlx::query_scalar::<_, i64>(begun).fetch_one(&mut connection).await;
        begun.unwrap()
    };
    assert_eq!(begun().await, 0);
    let channels = Nullable::To(Some(ids(["C2", "C3"])));
    let others = SavedSearchUpdate { channels, ..SavedSearchUpdate::default() };
    let others = service.change(&access, &saved.id, others).await.unwrap();
    assert_eq!((begun().await, others.channels), (1, Some(vec!["C2".into(), "C3".into()])));
}
