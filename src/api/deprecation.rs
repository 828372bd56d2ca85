//! Registry of deprecated routes and fields: responses that use one carry `X-Deprecated`, whose
//! text states the removal date, at least six months ahead.

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;

const DEPRECATED: &str = "x-deprecated";

/// Something that will be removed.
struct Deprecation {
    method: Method,
    /// The route as it is registered, under `/api`.
    path: &'static str,
    /// Text of the header: "`field` will be removed on 2027-06-01; use `other`".
    text: &'static str,
}

/// Everything that is deprecated now.
const DEPRECATIONS: &[Deprecation] = &[];

/// Adds the header of deprecated routes; runs after routing.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let method = request.method().clone();
    let mut response = next.run(request).await;
    if let Some(text) = path.and_then(|path| of(&method, &path))
        && let Ok(text) = HeaderValue::from_str(text)
    {
        response.headers_mut().insert(DEPRECATED, text);
    }
    response
}

/// Returns the deprecation text of a route.
fn of(method: &Method, matched: &str) -> Option<&'static str> {
    find(DEPRECATIONS, method, matched)
}

fn find(list: &[Deprecation], method: &Method, matched: &str) -> Option<&'static str> {
    let path = matched.strip_prefix("/api/v1").or_else(|| matched.strip_prefix("/api"))?;
    let found = list.iter().find(|known| known.method == *method && known.path == path)?;
    Some(found.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_found_under_both_of_its_names() {
        const LIST: &[Deprecation] = &[Deprecation {
            method: Method::GET,
            path: "/old/{id}",
            text: "GET /old will be removed on 2027-06-01",
        }];
        for path in ["/api/old/{id}", "/api/v1/old/{id}"] {
            assert_eq!(find(LIST, &Method::GET, path), Some(LIST[0].text));
            assert_eq!(find(LIST, &Method::PUT, path), None);
        }
        assert_eq!(find(LIST, &Method::GET, "/api/new"), None);
    }

    #[test]
    fn every_text_states_its_date() {
        for known in DEPRECATIONS {
            assert!(known.text.contains(" removed on 20"), "{}", known.text);
        }
    }
}
