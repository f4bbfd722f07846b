//! Answers that the proxy makes up or breaks.

use axum::{
    body::Body,
    http::{Response, StatusCode},
};

use super::{
    Dialect,
    connection::{Connection, End},
};

impl Dialect {
    pub(super) fn throttled(self) -> Response<Body> {
        match self {
            Self::Consul => {
                let answer = Response::builder().status(429).header("Retry-After", "1");
                answer.body(Body::from("rate limit exceeded, try again later or against a different server")).unwrap()
            }
            Self::Aws => respond(400, r#"{"__type":"ThrottlingException","message":"Rate exceeded"}"#),
        }
    }

    pub(super) fn server_error(self, choice: usize) -> Response<Body> {
        const CONSUL: [(u16, &str); 5] = [
            (500, "No cluster leader"),
            (500, "rpc error making call: EOF"),
            (502, "<html><body>Bad Gateway</body></html>"),
            (503, "<html><body>Service Unavailable</body></html>"),
            (504, "<html><body>Gateway Time-out</body></html>"),
        ];
        const AWS: [(u16, &str); 3] = [
            (500, r#"{"__type":"InternalServiceError","message":"An error occurred on the server side."}"#),
            (503, r#"{"__type":"ServiceUnavailableException","message":"Service Unavailable"}"#),
            (502, "<html><body>Bad Gateway</body></html>"),
        ];
        let (status, body) = match self {
            Self::Consul => CONSUL[choice % CONSUL.len()],
            Self::Aws => AWS[choice % AWS.len()],
        };
        respond(status, body)
    }
}

pub(super) fn respond(status: u16, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// Breaks the connection in the middle of the answer's body; before the answer if it has no body.
pub(super) async fn cut(answer: Option<Response<Body>>, connection: &Connection, end: End) -> Response<Body> {
    let Some(answer) = answer else {
        connection.break_now(end);
        return Response::new(Body::empty());
    };
    let (head, body) = answer.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    match body.len() {
        0 => connection.break_now(End::Reset),
        length => connection.break_in_body(length / 2, end),
    }
    Response::from_parts(head, Body::from(body))
}
