//! Reads what `ecs-mesh survey` needs of a datacenter of Consul, apart from its clusters. What could not be read stops nothing else.

use consul::{
    CaRoot, CatalogReads as _, ConsulError, Datacenter, ExpiringCertificate, HttpConsul, Intention, Logins as _,
    ServerVersion as _,
};
use mesh::{arn::ClusterArn, tenancy::Tenancy};

use crate::{inspection::Inspector, path::Answer};

/// A datacenter, apart from its clusters.
#[derive(Debug, Clone)]
pub struct DatacenterReading {
    pub version: Answer<String>,
    pub settings: Answer<Datacenter>,
    pub roots: Answer<Vec<CaRoot>>,
    /// The certificates of the server that answered; `None` before Consul 2.0.
    pub certificates: Answer<Option<Vec<ExpiringCertificate>>>,
    /// The intentions, in order of precedence.
    pub intentions: Answer<Vec<Intention>>,
    /// The clusters that have a node in Consul: of any account and region.
    pub clusters: Answer<Vec<ClusterArn>>,
}

impl Inspector<'_> {
    /// Four requests, and two for each partition.
    pub async fn datacenter(&self) -> DatacenterReading {
        let consul = self.consul;
        let tenancies = self.tenancies().await;
        let of_partitions = async {
            match &tenancies {
                Ok(tenancies) => of_partitions(consul, tenancies).await,
                Err(error) => (Err(error.clone()), Err(error.clone())),
            }
        };
        let (version, settings, roots, certificates, (intentions, clusters)) = tokio::join!(
            consul.version(),
            consul.datacenter(),
            consul.ca_roots(),
            consul.certificates(),
            of_partitions
        );
        DatacenterReading {
            version: version.map_err(Into::into),
            settings: settings.map_err(Into::into),
            roots: roots.map_err(Into::into),
            certificates: certificates.map_err(Into::into),
            intentions,
            clusters,
        }
    }
}

/// The intentions and the clusters' nodes of all partitions.
async fn of_partitions(
    consul: &HttpConsul,
    tenancies: &[Tenancy],
) -> (Answer<Vec<Intention>>, Answer<Vec<ClusterArn>>) {
    let (mut intentions, mut clusters) = (Ok(Vec::new()), Ok(Vec::new()));
    for tenancy in tenancies {
        let (found, nodes) = tokio::join!(consul.every_intention(tenancy), consul.synthetic_nodes(tenancy));
        add(&mut intentions, found);
        add(&mut clusters, nodes.map(|nodes| nodes.iter().filter_map(|node| node.parse().ok()).collect()));
    }
    (intentions, clusters)
}

/// Adds what was found; the first error stands for all.
fn add<T>(all: &mut Answer<Vec<T>>, found: Result<Vec<T>, ConsulError>) {
    let Ok(known) = all else { return };
    match found {
        Ok(found) => known.extend(found),
        Err(error) => *all = Err(error.into()),
    }
}
