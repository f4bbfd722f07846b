use super::*;

fn ecs(text: &str) -> EcsServers {
    match text.parse().unwrap() {
        ConsulAddresses::Ecs(servers) => servers,
        ConsulAddresses::Urls(urls) => panic!("{text}: {urls:?}"),
    }
}

#[test]
fn one_or_several_addresses_are_parsed() {
    for (text, count) in [("http://10.0.0.1:8500", 1), ("https://a.example:8501, https://[::1]:8501", 2)] {
        match text.parse().unwrap() {
            ConsulAddresses::Urls(urls) => assert_eq!(urls.urls().len(), count, "{text}"),
            ConsulAddresses::Ecs(servers) => panic!("{text}: {servers}"),
        }
    }
}

#[test]
fn other_formats_are_rejected() {
    for text in ["", "10.0.0.1:8500", "ftp://a:1", "http://a:1/v1", "http://a:1,", "http://a:99999", "http://a?x=1"] {
        let error = text.parse::<ConsulAddresses>().unwrap_err();
        assert!(error.to_string().contains("expected http://host:port"), "{error}");
        assert!(error.to_string().ends_with("ecs://cluster/family-or-service:port?scheme=https"), "{error}");
    }
}

#[test]
fn address_with_credentials_is_rejected_and_redacted() {
    for text in ["http://user:canary@a:8500", "ecs://user:canary@infra/consul:8500"] {
        let error = text.parse::<ConsulAddresses>().unwrap_err();
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}

#[test]
fn ecs_address_has_cluster_and_name() {
    let servers = ecs("ecs://infra/consul-server:8500");
    assert_eq!((servers.cluster.as_str(), servers.family_or_service.as_str()), ("infra", "consul-server"));
    assert_eq!(ecs(" ecs://infra/consul-server:8500?scheme=http "), servers);
    let longest = "x".repeat(255);
    assert_eq!(ecs(&format!("ecs://{longest}/A_b-9:65535")).cluster, longest);
}

#[test]
fn address_of_a_task_becomes_a_url() {
    for (text, address, url) in [
        ("ecs://infra/consul:8500", "10.0.1.7", "http://10.0.1.7:8500/"),
        ("ecs://infra/consul:8501?scheme=https", "10.0.1.7", "https://10.0.1.7:8501/"),
        ("ecs://infra/consul:8500", "fd00::7", "http://[fd00::7]:8500/"),
    ] {
        let server = ecs(text).at(address.parse().unwrap()).unwrap();
        assert_eq!((server.url.as_str(), server.address.to_string().as_str()), (url, address));
    }
}

#[test]
fn malformed_ecs_addresses_are_rejected() {
    for text in [
        "ecs://",
        "ecs://infra",
        "ecs://infra/consul",
        "ecs://infra/consul:",
        "ecs://infra/:8500",
        "ecs:///consul:8500",
        "ecs://infra/consul:0",
        "ecs://infra/consul:65536",
        "ecs://infra/consul:+8500",
        "ecs://infra/consul:8500/",
        "ecs://infra/consul:8500/v1",
        "ecs://infra/consul:8500#x",
        "ecs://infra/consul:8500?",
        "ecs://infra/consul:8500?scheme=",
        "ecs://infra/consul:8500?scheme=ftp",
        "ecs://infra/consul:8500?scheme=https&x=1",
        "ecs://infra/con sul:8500",
        "ecs://infra/consül:8500",
        "ecs://in.fra/consul:8500",
        "ecs://infra:80/consul:8500",
        "ecs://arn:aws:ecs:us-east-1:123456789012:cluster/infra/consul:8500",
        "ecs://infra/consul:8500,ecs://infra/other:8500",
        "ecs://infra/consul:8500,http://10.0.0.1:8500",
        "http://10.0.0.1:8500,ecs://infra/consul:8500",
        "http://ecs://infra/consul:8500",
    ] {
        let error = text.parse::<ConsulAddresses>().unwrap_err();
        assert!(
            error.to_string().contains("expected ecs://cluster/family-or-service:port?scheme=https"),
            "{text}: {error}"
        );
    }
    let too_long = format!("ecs://infra/{}:8500", "x".repeat(256));
    assert!(too_long.parse::<ConsulAddresses>().is_err());
}

#[test]
fn name_without_an_address_is_told_from_servers_that_ended() {
    let said = |host| no_address(host, "not known").to_string();
    let ended = said("shop.private.consul.0f0f0f0f.aws.hashicorp.cloud");
    assert!(ended.contains("it is a name of HCP Consul Dedicated, which ended on 2025-11-12. Run servers"), "{ended}");
    assert!(!ended.contains("DNS record"), "{ended}");
    let other = said("consul.example.com");
    assert!(other.ends_with("; correct its DNS record, or CONSUL_HTTP_ADDR"), "{other}");
}
