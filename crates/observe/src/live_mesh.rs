//! Reads what a mesh has of the services and auth methods that files name, before the files are deployed. What could not be read
//! stops nothing else, and the time for everything is bounded.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use consul::{
    ChainOverrides, ChainTarget, ConsulError, Datacenter, DiscoveryChain, HttpConsul, Intention, IntentionEnd,
    Logins as _, Permissions as _,
};
use mesh::{
    admission::AuthMethod,
    permissions::{Permission, Segment},
    tenancy::Tenancy,
};

use crate::{clock::Deadline, concurrency::concurrently_in_order, error::CallError, path::ServiceAt};

/// The names, chains and intentions of services: `service:read` includes `intentions:read`.
pub const READ_SERVICES: Permission = Permission { resource: "service", access: "read", segment: Segment::All };
/// The datacenter with its default policy, and the version of a server.
pub const READ_AGENTS: Permission = Permission { resource: "agent", access: "read", segment: Segment::All };
/// Auth methods and binding rules.
pub const READ_LOGINS: Permission = Permission { resource: "acl", access: "read", segment: Segment::Whole };

/// What files name.
#[derive(Debug, Clone, Default)]
pub struct LiveMeshQuestions {
    /// The tenancy of tasks that name none.
    pub home: Tenancy,
    pub upstreams: BTreeSet<ServiceAt>,
    /// Auth methods by their partition and name.
    pub methods: BTreeSet<(Tenancy, String)>,
}

/// What was read, or why it was not.
pub type Live<T> = Result<T, LiveMeshError>;

/// Why something could not be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LiveMeshError {
    /// Consul 1.8 leaves out what the token may not read: whether it may is asked first.
    #[error("the token lacks {0}")]
    Lacks(Permission),
    #[error(transparent)]
    Call(#[from] CallError),
}

/// What Consul has of that.
#[derive(Debug, Clone)]
pub struct LiveMeshReading {
    /// The datacenter that answers, with the version of its server.
    pub datacenter: Live<(Datacenter, String)>,
    /// What the upstreams' names mean.
    pub chains: BTreeMap<ServiceAt, Live<DiscoveryChain>>,
    /// The intentions about each service that they mean, in order of precedence.
    pub intentions: BTreeMap<ServiceAt, Live<Vec<Intention>>>,
    /// The names of the services, in each partition and namespace of theirs.
    pub names: BTreeMap<Tenancy, Live<Vec<String>>>,
    pub methods: BTreeMap<(Tenancy, String), Live<Option<AuthMethod>>>,
}

/// The services that requests to a name go to first, and the services that take over, in this datacenter.
pub struct ChainServices {
    pub first: BTreeSet<ServiceAt>,
    pub all: BTreeSet<ServiceAt>,
    /// Whether another datacenter or a peer has some of them.
    pub leads_elsewhere: bool,
}

impl ChainServices {
    pub fn of(asked: &ServiceAt, chain: &DiscoveryChain) -> Self {
        let is_here = |target: &ChainTarget| target.peer.is_empty() && target.datacenter == chain.datacenter;
        let service = |target: &ChainTarget| asked.of_target(target).everywhere();
        let resolvers = chain.nodes.values().filter_map(|node| node.resolver.as_ref());
        let first = resolvers.filter_map(|resolver| chain.targets.get(&resolver.target));
        Self {
            first: first.filter(|target| is_here(target)).map(service).collect(),
            all: chain.targets.values().filter(|target| is_here(target)).map(service).collect(),
            leads_elsewhere: !chain.targets.values().all(is_here),
        }
    }
}

/// Reads what Consul has, in less than `limit`: one request for the permissions, one for the datacenter, one for the chain of each
/// upstream and one for the intentions about each service that it means, one for the names in each namespace, and two for each auth
/// method. A namespace other than `home` costs one more, for the permission there.
pub async fn read_live_mesh(consul: &HttpConsul, asked: &LiveMeshQuestions, limit: Duration) -> LiveMeshReading {
    let reader = Reader { consul, home: &asked.home, deadline: Deadline::after(limit) };
    let mut needed = vec![READ_SERVICES, READ_AGENTS];
    needed.extend((!asked.methods.is_empty()).then_some(READ_LOGINS));
    let missing = reader.missing(&asked.home, &needed).await;
    let may = |wanted: Permission| match &missing {
        Ok(missing) if missing.contains(&wanted) => Err(LiveMeshError::Lacks(wanted)),
        Ok(_) => Ok(()),
        Err(error) => Err(error.clone()),
    };
    let (services, agents, logins) = (&may(READ_SERVICES), &may(READ_AGENTS), &may(READ_LOGINS));
    let chains = asked.upstreams.iter().map(|service| async move {
        let ServiceAt { name, tenancy, .. } = service;
        let overrides = ChainOverrides::default();
        let chain = reader.part(services, consul.discovery_chain(name, tenancy, None, &overrides));
        (service.clone(), chain.await)
    });
    let methods = asked.methods.iter().map(|method| async move {
        let (tenancy, name) = method;
        (method.clone(), reader.part(logins, consul.auth_method(tenancy, name)).await)
    });
    let (datacenter, chains, methods) = tokio::join!(
        reader.part(agents, consul.datacenter_with_version()),
        concurrently_in_order(chains),
        concurrently_in_order(methods)
    );
    let chains: BTreeMap<ServiceAt, Live<DiscoveryChain>> = chains.into_iter().collect();
    let means =
        |(asked, chain): (&ServiceAt, &Live<DiscoveryChain>)| Some(ChainServices::of(asked, chain.as_ref().ok()?));
    let means: Vec<ChainServices> = chains.iter().filter_map(means).collect();
    let called: BTreeSet<&ServiceAt> = means.iter().flat_map(|means| &means.first).collect();
    let wanted = means.iter().flat_map(|means| &means.all).chain(&asked.upstreams);
    let tenancies: BTreeSet<&Tenancy> = wanted.map(|service| &service.tenancy).collect();
    let intentions = called.into_iter().map(|service| async move {
        let read = consul.intentions(IntentionEnd::Destination, &service.name, &service.tenancy);
        (service.clone(), reader.part(services, read).await)
    });
    let names =
        tenancies.into_iter().map(|tenancy| async move { (tenancy.clone(), reader.names(services, tenancy).await) });
    let (intentions, names) = tokio::join!(concurrently_in_order(intentions), concurrently_in_order(names));
    LiveMeshReading {
        datacenter,
        chains,
        intentions: intentions.into_iter().collect(),
        names: names.into_iter().collect(),
        methods: methods.into_iter().collect(),
    }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    consul: &'a HttpConsul,
    home: &'a Tenancy,
    deadline: Deadline,
}

impl Reader<'_> {
    /// Reads something that the token may read, if there is time.
    async fn part<T>(&self, may: &Live<()>, work: impl Future<Output = Result<T, ConsulError>>) -> Live<T> {
        may.clone()?;
        Ok(self.deadline.run(work).await?)
    }

    async fn missing(&self, tenancy: &Tenancy, permissions: &[Permission]) -> Live<Vec<Permission>> {
        self.part(&Ok(()), self.consul.missing_permissions(tenancy, permissions)).await
    }

    /// The names in a namespace: what the token may read at home, it may not be allowed to read there.
    async fn names(&self, may: &Live<()>, tenancy: &Tenancy) -> Live<Vec<String>> {
        may.clone()?;
        if tenancy != self.home
            && let Some(missing) = self.missing(tenancy, &[READ_SERVICES]).await?.pop()
        {
            return Err(LiveMeshError::Lacks(missing));
        }
        self.part(may, self.consul.service_names(tenancy)).await
    }
}
