//! `ecs-mesh path`: a request from one service to another, on a real Consul. What each answer of Consul means,
//! `crates/diagnosis/src/path/tests` shows.

use local_stack::{Stack, world::World};
use reqwest::Method;
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneService, Release},
    recorder::{Answer, RecordedRequest, Recorder},
};

use super::{PAGE, Said, command, documented, permissions, said};

const CLUSTER: &str = "path";

/// Two services of one cluster, each with a healthy task. The caller has an upstream for the other one, as recorded.
struct Services<'a> {
    world: &'a World<'a>,
    source: DataplaneService,
    destination: DataplaneService,
    token: String,
}

impl<'a> Services<'a> {
    async fn new(world: &'a World<'a>) -> Self {
        let blocks = PAGE.split("```hcl\n").skip(1).filter_map(|rest| rest.split_once("```"));
        let policy: String = blocks.map(|(block, _)| block).collect();
        let [source, destination] = ["web", "api"].map(|name| format!("{}-{name}", world.name));
        Self {
            world,
            source: DataplaneService::named(&source, Release::V0_9),
            destination: DataplaneService::named(&destination, Release::V0_9),
            token: world.consul.token_with_rules(world.name, &policy).await.secret_id,
        }
    }

    /// Runs a task of the caller, whose proxy is registered with these upstreams.
    async fn call_through(&self, upstreams: Value) {
        let task = self.source.run(self.world).await;
        task.settle().await;
        task.register_upstreams(&upstreams).await;
    }

    /// The tasks of the destination's ECS service are registered in so many target groups.
    async fn balance(&self, groups: usize) {
        let group = "arn:aws:elasticloadbalancing:us-east-1:000000000000:targetgroup/api/6d0ecf831eec9f09";
        let entry = json!({ "targetGroupArn": group, "containerName": "app", "containerPort": 9090 });
        let balancers = vec![entry; groups];
        let body = json!({ "cluster": self.world.name, "service": self.destination.name, "loadBalancers": balancers });
        self.world.ecs_call("UpdateService", &body).await;
    }

    async fn ask(&self, aws: &str, consul: &str, arguments: &[&str]) -> Said {
        let arguments = [&["path"], arguments, &["--cluster", self.world.name, "--stack", "path"]].concat();
        let mut command = command(aws, &arguments).await;
        said(command.env("CONSUL_HTTP_ADDR", consul).env("CONSUL_HTTP_TOKEN", &self.token)).await
    }

    async fn answer(&self, arguments: &[&str]) -> Said {
        let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
        self.ask(&aws.url, &self.world.consul.address, arguments).await
    }

    /// AWS with a network between the first proxies of both services, in which the destination's security group has this rule.
    async fn network(&self, ingress: &'static str) -> Recorder {
        let mut addresses = Vec::new();
        for name in self.names() {
            let proxies = self.world.consul.get(&format!("/v1/health/connect/{name}")).await;
            addresses.push(proxies[0]["Service"]["Address"].as_str().expect("an address").to_owned());
        }
        let script = move |request: &RecordedRequest, _| ec2(request, &addresses, ingress);
        Recorder::before_aws(&Stack::shared().await.aws, script).await
    }

    fn names(&self) -> [&str; 2] {
        [&self.source.name, &self.destination.name]
    }
}

/// What EC2 answers about two interfaces of one subnet, with a security group each; the caller's lets everything out. `MiniStack` knows
/// no interface of a task.
fn ec2(request: &RecordedRequest, addresses: &[String], ingress: &str) -> Answer {
    let items = if request.body.contains("Action=DescribeNetworkInterfaces") {
        let interface = |(address, group): (&String, &str)| {
            format!(
                "<item><subnetId>subnet-1</subnetId><vpcId>vpc-1</vpcId><privateIpAddress>{address}</privateIpAddress>\
                 <groupSet><item><groupId>{group}</groupId></item></groupSet></item>"
            )
        };
        addresses.iter().zip(["sg-web", "sg-api"]).map(interface).collect()
    } else if request.body.contains("Action=DescribeSecurityGroupRules") {
        let rule = |group: &str, egress: bool, peer: &str| {
            format!(
                "<item><groupId>{group}</groupId><isEgress>{egress}</isEgress><ipProtocol>-1</ipProtocol>\
                 <fromPort>-1</fromPort><toPort>-1</toPort>{peer}</item>"
            )
        };
        rule("sg-web", true, "<cidrIpv4>0.0.0.0/0</cidrIpv4>") + &rule("sg-api", false, ingress)
    } else if request.body.contains("Action=DescribeNetworkAcls") {
        String::new()
    } else if request.body.contains("Action=DescribeTargetHealth") {
        return target_health(&addresses[1]);
    } else {
        return Answer::Forward;
    };
    let action = request.body.split(['=', '&']).nth(1).expect("an action");
    let set = match action {
        "DescribeNetworkInterfaces" => "networkInterfaceSet",
        "DescribeSecurityGroupRules" => "securityGroupRuleSet",
        _ => "networkAclSet",
    };
    Answer::ok(format!("<{action}Response><{set}>{items}</{set}></{action}Response>"))
}

/// What Elastic Load Balancing answers about a target that is healthy.
fn target_health(address: &str) -> Answer {
    Answer::ok(format!(
        "<DescribeTargetHealthResponse><DescribeTargetHealthResult><TargetHealthDescriptions><member>\
         <TargetHealth><State>healthy</State></TargetHealth><Target><Id>{address}</Id><Port>9090</Port></Target>\
         </member></TargetHealthDescriptions></DescribeTargetHealthResult></DescribeTargetHealthResponse>"
    ))
}

const FROM_CALLER: &str = "<referencedGroupInfo><groupId>sg-web</groupId></referencedGroupInfo>";
const FROM_NOBODY: &str = "<cidrIpv4>192.0.2.0/24</cidrIpv4>";

/// The first line about a place.
fn line<'v>(document: &'v Value, place: &str) -> &'v Value {
    let lines = document["paths"][0]["lines"].as_array().expect("lines");
    lines.iter().find(|line| line["place"] == place).unwrap_or_else(|| panic!("{place}: {document:#}"))
}

#[tokio::test]
async fn a_request_is_followed_until_nothing_stops_it() {
    let world = World::without_deployment(CLUSTER).await;
    let services = Services::new(&world).await;
    let [web, api] = services.names();
    let upstream = json!([{ "DestinationName": api, "LocalBindPort": 1234 }]);
    services.call_through(upstream).await;

    // Without a task of the destination, its name leads to nothing
    let said = services.answer(&[web, api, "--output", "json"]).await;
    let document = said.json();
    let schema: Value = serde_json::from_str(include_str!("../../../docs/reference/schema/path.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    assert_eq!(
        (said.code, &line(&document, "name")["verdict"]),
        (Some(1), &json!("fault")),
        "{document:#}{}",
        said.errors
    );
    assert_eq!(line(&document, "way-out")["verdict"], "ok", "{document:#}");

    // With one, the default policy denies the call
    services.destination.run_by_ecs_service(&world, &json!([])).await.settle().await;
    services.balance(1).await;
    let aws = services.network(FROM_CALLER).await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let said = services.ask(&aws.url, &consul.url, &[web, api, "--output", "json"]).await;
    let document = said.json();
    let denied = line(&document, "permission");
    assert_eq!((said.code, &denied["verdict"]), (Some(1), &json!("fault")), "{document:#}{}", said.errors);
    assert_eq!(denied["commands"], json!([format!("consul intention create -allow {web} {api}")]));
    let sentence = document["paths"][0]["conclusion"].as_str().unwrap();
    assert_eq!(
        sentence,
        format!(
            "Requests from {web} to {api} fail: {web} → {api}: no intention is about it, and the default policy denies it"
        )
    );
    assert_eq!(permissions(&aws.requests()), documented("path"));
    let of_path = ["/v1/discovery-chain/", "/v1/health/connect/", "/v1/connect/"];
    let lines = consul.lines();
    let mut of_path: Vec<&String> =
        lines.iter().filter(|line| of_path.iter().any(|path| line.contains(path))).collect();
    of_path.sort();
    let expected = [
        "GET /v1/connect/ca/roots".to_owned(),
        format!("GET /v1/connect/intentions/match?by=destination&name={api}"),
        format!("GET /v1/discovery-chain/{api}"),
        format!("GET /v1/health/connect/{api}?dc=dc1"),
        format!("GET /v1/health/connect/{web}"),
    ];
    assert_eq!(of_path, expected.iter().collect::<Vec<_>>());

    // An intention allows it
    let intention = json!({ "SourceName": web, "DestinationName": api, "Action": "allow" });
    let created =
        world.consul.call(Method::POST, "/v1/connect/intentions", &world.consul.management_token, Some(&intention));
    assert_eq!(created.await.status, 200);
    let said = services.ask(&aws.url, &consul.url, &[web, api]).await;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.errors);
    let last = said.out.lines().last().unwrap();
    assert_eq!(last, format!("Nothing that was read stops requests from {web} to {api}"));
    // What the proxy says of itself is read from a file
    let file = format!("{}/{web}-proxy.txt", env!("CARGO_TARGET_TMPDIR"));
    let dump = json!({ "configs": [{ "@type": "type.googleapis.com/envoy.admin.v3.ListenersConfigDump" }] });
    std::fs::write(&file, format!("Starting session with SessionId: ecs-1\r\n{dump}\r\n")).unwrap();
    let said = services.ask(&aws.url, &consul.url, &[web, api, "--proxy-output", &file]).await;
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.errors);
    let last = said.out.lines().last().unwrap();
    assert!(last.contains("the proxy itself has no listener 127.0.0.1:1234"), "{last}");
    std::fs::write(&file, "curl: not found\n").unwrap();
    let said = services.ask(&aws.url, &consul.url, &[web, api, "--proxy-output", &file]).await;
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.errors);
    assert!(said.errors.contains("has no answer of Envoy to /certs, /clusters or /config_dump"), "{}", said.errors);
    // Without a load balancer, no target is asked about; without the rule of its security group, it is blocked on the way
    services.balance(0).await;
    let closed = services.network(FROM_NOBODY).await;
    let said = services.ask(&closed.url, &consul.url, &[web, api]).await;
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.errors);
    let last = said.out.lines().last().unwrap();
    assert!(last.contains("is blocked: no ingress rule of sg-api allows TCP port 20000 from "), "{last}");
    let command = "  aws ec2 authorize-security-group-ingress --group-id sg-api --ip-permissions ";
    assert!(said.out.lines().any(|line| line.starts_with(command)), "{}", said.out);
    let dial = said.out.lines().find(|line| line.contains("--command 'nc -zvw3 ")).unwrap_or_default();
    assert!(dial.starts_with("  aws ecs execute-command --cluster path --task "), "{}", said.out);
    let called = permissions(&closed.requests());
    assert!(!called.contains("elasticloadbalancing:DescribeTargetHealth"), "{called:?}");
    // A name that nothing has is no answer without destinations
    let nobody = services.answer(&["nobody"]).await;
    assert_eq!((nobody.code, nobody.out.as_str()), (Some(2), ""), "{}", nobody.errors);
    assert!(nobody.errors.contains("Consul has no proxy of it"), "{}", nobody.errors);
    // Every destination is the one that it has
    let all = services.answer(&[web, "--output", "json"]).await.json();
    assert_eq!(all["paths"].as_array().unwrap().len(), 1, "{all:#}");
    assert_eq!(all["paths"][0]["destination"]["service"], api);
    // And who may call it, with a note if there is no such service
    let misspelt = services.answer(&["--to", &format!("{api}s")]).await;
    let meant = format!("Did you mean {api}?");
    assert!(misspelt.code == Some(0) && misspelt.errors.contains(&meant), "{}", misspelt.errors);
    let callers = services.answer(&["--to", api]).await;
    assert_eq!(callers.code, Some(0), "{}", callers.errors);
    let rows: Vec<Vec<&str>> = callers.out.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let allowed = format!("intention {web} → {api}");
    assert_eq!(rows[0], [&[web, "allow"], &allowed.split(' ').collect::<Vec<_>>()[..]].concat(), "{}", callers.out);
    assert_eq!(rows.last().unwrap(), &["*", "deny", "default", "policy"], "{}", callers.out);
}

#[tokio::test]
async fn an_upstream_that_is_missing_and_a_redirect_to_nothing_are_named() {
    let world = World::without_deployment("path-lost").await;
    let services = Services::new(&world).await;
    let [web, api] = services.names();
    services.call_through(json!([{ "DestinationName": "path-lost-apis", "LocalBindPort": 1234 }])).await;
    let redirect = json!({ "Kind": "service-resolver", "Name": api, "Redirect": { "Service": "path-lost-api-2" } });
    world.consul.put("/v1/config", &redirect).await;
    let said = services.answer(&[web, api, "--output", "json"]).await;
    let document = said.json();
    assert_eq!(said.code, Some(1), "{document:#}{}", said.errors);
    let way_out = line(&document, "way-out")["what"].as_str().unwrap();
    assert!(way_out.ends_with("its upstream path-lost-apis has another name"), "{way_out}");
    let name = line(&document, "name")["what"].as_str().unwrap();
    assert!(name.starts_with("the service-resolver redirects to path-lost-api-2"), "{name}");
}

#[tokio::test]
async fn what_the_token_may_not_read_is_unknown_and_never_absent() {
    let world = World::without_deployment("path-unread").await;
    let mut services = Services::new(&world).await;
    let [web, api] = services.names().map(str::to_owned);
    services.call_through(json!([{ "DestinationName": api, "LocalBindPort": 1234 }])).await;
    services.token =
        world.consul.token_with_rules("path-unread-none", r#"key "x" { policy = "read" }"#).await.secret_id;
    let said = services.answer(&[&web, &api, "--output", "json"]).await;
    let document = said.json();
    assert_eq!(said.code, Some(2), "{document:#}");
    for place in ["way-out", "name"] {
        let line = line(&document, place);
        assert_eq!(line["verdict"], "unknown", "{line:#}");
        assert_eq!(line["missingPermission"], r#"service_prefix "" { policy = "read" }"#, "{line:#}");
    }
    assert_eq!(document["paths"][0]["passage"], "unknown", "{document:#}");
    // The roots take no permission
    assert_eq!(line(&document, "trust")["verdict"], "ok", "{document:#}");
}
