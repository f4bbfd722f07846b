use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, Method, Response},
};

/// The real server's whole answer to a request.
pub(crate) async fn forward(
    client: &reqwest::Client,
    method: Method,
    url: &str,
    mut headers: HeaderMap,
    body: Bytes,
) -> reqwest::Result<Response<Body>> {
    headers.remove("host");
    headers.remove("content-length");
    let answer = client.request(method, url).headers(headers).body(body).send().await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    for of_the_connection in ["transfer-encoding", "connection"] {
        response.headers_mut().remove(of_the_connection);
    }
    *response.body_mut() = Body::from(answer.bytes().await?);
    Ok(response)
}
