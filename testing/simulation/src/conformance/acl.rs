//! Tokens and policies: simulated Consul against a real one.

use consul::{ConsulError, Grant, NewToken, Object, Token};
use controller::{Edges, bootstrap::client_agent_policy};
use mesh::tenancy::Tenancy;
use mesh::token::{AccessorId, TokenPair};
use secrecy::{ExposeSecret, SecretString};

use super::{Exchange, assert_same, real};
use crate::{calls::CallOutcome, dialect::Dialect, direct::Direct};
use local_stack::world::World;

const HOME: Tenancy = Tenancy::Community;
const ACCESSORS: [&str; 2] = ["c0a1e5ce-0000-4000-8000-000000000001", "c0a1e5ce-0000-4000-8000-000000000002"];
const SECRETS: [&str; 2] = ["5ec2e700-0000-4000-8000-000000000001", "5ec2e700-0000-4000-8000-000000000002"];
const POLICY: &str = "conformance-client";

fn accessor(number: usize) -> AccessorId {
    ACCESSORS[number].parse().unwrap()
}

fn token(number: usize, secret: usize, grant: Grant) -> NewToken {
    NewToken {
        pair: TokenPair { accessor: accessor(number), secret: SecretString::from(SECRETS[secret]) },
        description: format!("conformance {number}").into(),
        grant,
        tenancy: HOME,
    }
}

fn of_service() -> Grant {
    Grant::ServiceIdentity("conformance-web".parse().unwrap())
}

/// All fields of a token that the controller reads.
fn seen(token: &Token) -> String {
    let mut grants: Vec<String> = Vec::new();
    for (kind, links) in &token.grants {
        for link in links.as_array().into_iter().flatten() {
            let name = link["Name"].as_str().or_else(|| link["ServiceName"].as_str()).unwrap_or_default();
            grants.push(format!("{kind} {name}"));
        }
    }
    grants.sort();
    let (pair, nothing) = (&token.pair, token.grants_nothing());
    format!("{} {} {:?} {grants:?} {nothing}", pair.accessor, pair.secret.expose_secret(), token.description.as_str())
}

async fn read(edges: &Edges, number: usize) -> Result<Option<String>, ConsulError> {
    Ok(edges.reads.consul.token(&HOME, accessor(number)).await?.as_ref().map(seen))
}

async fn listed(edges: &Edges) -> Result<Vec<String>, ConsulError> {
    let tokens = edges.reads.consul.tokens(&HOME, &|_| true).await?.unwrap_or_default();
    let ours = tokens.iter().filter(|token| token.description.as_str().starts_with("conformance"));
    let line = |token: &mesh::token::ListedToken| {
        let (dated, tenancy) = (token.created_at.is_some(), &token.tenancy);
        format!("{} {:?} {:?} {dated} {tenancy:?}", token.accessor, token.description.as_str(), token.grants)
    };
    let mut lines: Vec<String> = ours.map(line).collect();
    lines.sort();
    Ok(lines)
}

async fn tokens(edges: &Edges) -> Exchange {
    let (reads, writes) = (&edges.reads.consul, &edges.writes.consul);
    let mut all = Exchange::default();
    all.note("read one that is not there", read(edges, 0).await);
    all.note("delete one that is not there", writes.delete_token(&HOME, accessor(0)).await);
    all.note("update one that is not there", writes.update_token(&token(0, 0, of_service())).await);
    all.note("create", writes.create_token(&token(0, 0, of_service())).await.map(|made| seen(&made)));
    all.note("read", read(edges, 0).await);
    all.note("list", listed(edges).await);
    all.note("create the same again", writes.create_token(&token(0, 0, of_service())).await.map(drop));
    all.note("create with another secret half", writes.create_token(&token(0, 1, of_service())).await.map(drop));
    all.note("create with a secret half in use", writes.create_token(&token(1, 0, of_service())).await.map(drop));
    all.note("read what was not created", read(edges, 1).await);
    let before = reads.token(&HOME, accessor(0)).await.unwrap().unwrap();
    let renamed = NewToken { description: "conformance anew".into(), ..token(0, 0, Grant::AsBefore(before.grants)) };
    all.note("update the description", writes.update_token(&renamed).await);
    all.note("read the update", read(edges, 0).await);
    all.note("delete", writes.delete_token(&HOME, accessor(0)).await);
    all.note("read what was deleted", read(edges, 0).await);
    let back = NewToken { grant: renamed.grant.clone(), ..token(0, 0, of_service()) };
    all.note("restore the same pair", writes.create_token(&back).await.map(|made| seen(&made)));
    all.note("list what was restored", listed(edges).await);
    all.note("delete in the end", writes.delete_token(&HOME, accessor(0)).await);
    all.note("nothing is listed", listed(edges).await);
    all
}

fn policy() -> Object {
    client_agent_policy(&HOME, POLICY)
}

async fn policies(edges: &Edges) -> Exchange {
    let writes = &edges.writes.consul;
    let mut all = Exchange::default();
    all.note("delete a policy that is not there", writes.delete_policy(&policy()).await);
    all.note("make a policy", writes.create_policy(&policy()).await);
    all.note("make it again", writes.create_policy(&policy()).await);
    all.note("create", writes.create_token(&token(0, 0, Grant::Policy(POLICY.to_owned()))).await.map(drop));
    all.note("list the token with the policy", listed(edges).await);
    all.note("delete the policy", writes.delete_policy(&policy()).await);
    all.note("delete it again", writes.delete_policy(&policy()).await);
    all.note("read the token that had the policy", read(edges, 0).await);
    all.note("create the policy again", writes.create_policy(&policy()).await);
    all.note("restore the policy", writes.update_token(&token(0, 0, Grant::Policy(POLICY.to_owned()))).await);
    all.note("read the token with the restored policy", read(edges, 0).await);
    all.note("delete the token", writes.delete_token(&HOME, accessor(0)).await);
    all.note("delete the policy in the end", writes.delete_policy(&policy()).await);
    all
}

#[tokio::test]
async fn tokens_and_client_policies_behave_as_on_consul() {
    let _turn = super::turn().await;
    let world = World::without_deployment("conform-acl").await;
    let real = real(&world).await;
    let real = [tokens(&real).await, policies(&real).await];
    for simulated in Dialect::ALL.map(Direct::new) {
        let edges = &simulated.edges;
        assert_same(&simulated.drive(CallOutcome::Served, tokens(edges)), &real[0]);
        assert_same(&simulated.drive(CallOutcome::Served, policies(edges)), &real[1]);
    }
}
