//! The incidents of docs/how-to/incidents.md, each staged on the local stack. A person on call types the commands of the page, with the
//! page's policy, and the answers have what the page shows.

mod consul;
mod controller;
mod requests;
mod starts;

use std::collections::BTreeMap;

use local_stack::{
    Stack,
    consul::Consul,
    deploy::{Deployed, install},
    in_repository,
    users::{Key, on_call},
    world::World,
};
use tokio::sync::{Mutex, OnceCell};

use crate::{
    by_hand::{PAGE as COMMANDS, Said, command_of, said},
    fixture::{controller_token, shared},
};

/// The clusters of the deployment that most incidents share: one for each.
const CLUSTERS: [&str; 6] =
    ["night-host", "night-image", "night-intention", "night-proxy", "night-role", "night-secret"];

/// One of the clusters of the deployment `incidents`.
async fn world(name: &'static str) -> World<'static> {
    static DEPLOYED: OnceCell<Deployed> = OnceCell::const_new();
    shared(&DEPLOYED, "incidents", &CLUSTERS, name, &[("Bootstrap", "none")]).await
}

/// A cluster with a deployment of its own. The `further` parameters take precedence.
async fn deployment<'a>(
    consul: &'a Consul,
    stack: &'static str,
    cluster: &'static str,
    further: &[(&str, &str)],
) -> World<'a> {
    let aws = &Stack::shared().await.aws;
    let token = controller_token(consul, stack).await;
    let deployed = install(aws, &consul.address, stack, &[cluster], &token.secret_id, further).await.unwrap();
    World { aws, consul, deployed, name: cluster, prefix: stack }
}

/// What the page leaves out of an answer.
const LEFT_OUT: char = '…';

/// A command of the page, and what the page shows of its answer.
struct Step {
    command: String,
    shown: String,
}

impl Step {
    /// The commands of an incident, from its section of the page.
    fn of(incident: &str) -> Vec<Self> {
        let page = std::fs::read_to_string(in_repository("docs/how-to/incidents.md")).expect("the page");
        let (_, section) = page.split_once(&format!("\n## {incident}\n")).expect("the incident's section");
        let (_, block) = section.split_once("```console\n").expect("a block");
        let (block, _) = block.split_once("```").expect("its end");
        let steps = block.split("$ ").skip(1).map(|step| step.split_once('\n').expect("an answer"));
        let steps: Vec<Self> =
            steps.map(|(command, shown)| Self { command: command.to_owned(), shown: shown.to_owned() }).collect();
        assert!(steps.len() <= 3, "{incident}: more than three commands");
        assert!(steps.iter().all(|step| !step.parts().is_empty()), "{incident}: a command without an answer");
        assert!(steps[0].command.starts_with("ecs-mesh status"), "{incident}: the first command is not status");
        steps
    }

    /// What the page shows of the answer.
    fn parts(&self) -> Vec<String> {
        self.shown.split(LEFT_OUT).map(in_one_line).filter(|part| !part.is_empty()).collect()
    }

    /// Whether an answer has the parts that the page shows, in this order.
    fn is_shown_by(&self, answer: &str) -> bool {
        let answer = in_one_line(answer);
        let mut rest = answer.as_str();
        self.parts().iter().all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

/// A text whose spaces and line breaks are one space each.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// A person on call for a deployment, who looks at one of its clusters.
struct OnCall<'a> {
    world: &'a World<'a>,
    key: Key,
    /// The environment variables that name Consul.
    variables: BTreeMap<&'static str, String>,
}

impl<'a> OnCall<'a> {
    /// A person with the policy of the page on alarms, and with a token of the policies that the commands' page names.
    async fn of(world: &'a World<'a>) -> Self {
        static KEYS: Mutex<BTreeMap<&str, Key>> = Mutex::const_new(BTreeMap::new());
        let mut keys = KEYS.lock().await;
        if !keys.contains_key(world.prefix) {
            let user = format!("on-call-{}", world.prefix);
            keys.insert(world.prefix, world.aws.user(&user, &[on_call(world.prefix)]).await);
        }
        let key = keys[world.prefix].clone();
        let rules = COMMANDS.split("```hcl\n").skip(1).filter_map(|rest| rest.split_once("```"));
        let rules: String = rules.map(|(block, _)| block).collect();
        let token = world.consul.token_with_rules(&format!("on-call-{}", world.name), &rules).await;
        let variables =
            [("CONSUL_HTTP_ADDR", world.consul.address.clone()), ("CONSUL_HTTP_TOKEN", token.secret_id)].into();
        Self { world, key, variables }
    }

    /// Sets a further environment variable.
    fn sets(&mut self, variable: &'static str, value: &str) {
        self.variables.insert(variable, value.to_owned());
    }

    /// Walks through an incident: each answer has what the page shows, and the last one says that something is wrong.
    async fn walks_through(&self, incident: &str) {
        let (mut last, mut astray) = (None, Vec::new());
        for step in Step::of(incident) {
            let said = self.types(&step.command).await;
            let answer = self.in_words_of_the_page(&said);
            if !step.is_shown_by(&answer) {
                astray.push(format!("{} answers\n{answer}\nand the page shows\n{}", step.command, step.shown));
            }
            last = said.code;
        }
        assert!(astray.is_empty(), "docs/how-to/incidents.md, {incident}:\n{}", astray.join("\n"));
        assert_ne!(last, Some(0), "{incident}");
    }

    /// The last command no longer leads to the sentence. `Err` is its answer.
    async fn is_done_with(&self, incident: &str) -> Result<(), String> {
        let step = Step::of(incident).pop().expect("a command");
        let said = self.types(&step.command).await;
        let answer = self.in_words_of_the_page(&said);
        assert_ne!(said.code, Some(2), "{incident}: it could not be answered\n{answer}");
        if step.is_shown_by(&answer) { Err(answer) } else { Ok(()) }
    }

    /// Types a command of the page, with the names of the world in place of the page's.
    async fn types(&self, line: &str) -> Said {
        let World { name, prefix, .. } = self.world;
        let named = |word: &str| match word {
            "prod" => (*name).to_owned(),
            "web" | "api" => format!("{name}-{word}"),
            word => word.to_owned(),
        };
        let mut words = line.split_whitespace().map(named);
        assert_eq!(words.next().as_deref(), Some("ecs-mesh"), "{line}");
        let words: Vec<String> = words.chain(["--stack".to_owned(), (*prefix).to_owned()]).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = command_of(&self.key, &Stack::shared().await.aws.endpoint, &words);
        said(command.envs(&self.variables)).await
    }

    /// What a command has said, standard error first, with the page's names in place of the world's.
    fn in_words_of_the_page(&self, said: &Said) -> String {
        let World { name, prefix, .. } = self.world;
        let text = format!("{}{}", said.errors, said.out);
        let names = [("web", format!("{name}-web")), ("api", format!("{name}-api"))];
        let text = names.iter().fold(text, |text, (page, own)| text.replace(own, page));
        text.replace(name, "prod").replace(prefix, "ecs-mesh-controller")
    }
}
