//! References of containers to secrets in AWS Secrets Manager: `valueFrom` of a task definition's `secrets`.
//!
//! Sources: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-secrets-manager.html>,
//! <https://docs.aws.amazon.com/systems-manager/latest/userguide/integration-ps-secretsmanager.html>

/// The path under which Systems Manager's Parameter Store offers the secrets of Secrets Manager.
const PARAMETER_PATH: &str = "/aws/reference/secretsmanager/";
/// The version of a secret that is read if the reference names none.
const CURRENT: &str = "AWSCURRENT";
/// The key of the token in the JSON of a secret.
const TOKEN_KEY: &str = "token";
/// The number of random characters that Secrets Manager adds to a secret's name in its ARN, after a hyphen:
/// <https://docs.aws.amazon.com/secretsmanager/latest/userguide/troubleshoot.html#ARN_secretnamehyphen>
const ARN_SUFFIX_LENGTH: usize = 6;

/// A container's reference to a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretReference {
    /// The account and the region in the ARN; `None` for a bare name, which is looked up beside the task.
    place: Option<(String, String)>,
    /// The secret's name; in a full ARN of Secrets Manager, with the random characters.
    name: String,
    /// Whether it is an ARN of Secrets Manager, which may have the random characters.
    is_arn: bool,
    /// Whether it reads the key `token` of the secret's JSON.
    is_token: bool,
    /// The version that the reference names; `None`: the current one.
    version: Option<String>,
}

impl SecretReference {
    /// A secret in Secrets Manager; `None` if `value_from` refers to anything else.
    ///
    /// It may be a full ARN, an ARN without the random characters, or a name, each with or without a JSON key, or a
    /// parameter of Systems Manager that refers to a secret. For ECS a bare name is that of a parameter.
    ///
    /// ```
    /// use mesh::secret_reference::SecretReference;
    ///
    /// let full = "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ecs-web-AbCdEf:token::";
    /// let full = SecretReference::parse(full).expect("a secret");
    /// assert!(full.is_to("consul-ecs-web") && full.is_current());
    /// assert_eq!(SecretReference::parse("arn:aws:ssm:us-east-1:123456789012:parameter/db"), None);
    /// ```
    pub fn parse(value_from: &str) -> Option<Self> {
        let parts: Vec<&str> = value_from.split(':').collect();
        match parts.as_slice() {
            ["arn", _, "secretsmanager", region, account, "secret", name, options @ ..] => {
                let versions = options.iter().skip(1).find(|text| !matches!(**text, "" | CURRENT));
                let is_token = options.first() == Some(&TOKEN_KEY);
                Some(Self { is_arn: true, is_token, ..Self::at(Some((account, region)), name, versions.copied()) })
            }
            ["arn", _, "ssm", region, account, parameter, version @ ..] => {
                let name = parameter.strip_prefix("parameter")?.strip_prefix(PARAMETER_PATH)?;
                Some(Self::at(Some((account, region)), name, version.first().copied()))
            }
            ["arn", ..] | [] => None,
            [name, options @ ..] => match name.strip_prefix(PARAMETER_PATH) {
                Some(name) => Some(Self::at(None, name, options.first().copied())),
                None if name.starts_with('/') => None,
                None => {
                    let version = options.iter().skip(1).find(|text| !text.is_empty());
                    let is_token = options.first() == Some(&TOKEN_KEY);
                    Some(Self { is_token, ..Self::at(None, name, version.copied()) })
                }
            },
        }
    }

    /// A reference to the current version of the secret with this name, beside the task.
    pub fn named(name: &str) -> Self {
        Self::at(None, name, None)
    }

    fn at(place: Option<(&str, &str)>, name: &str, version: Option<&str>) -> Self {
        Self {
            place: place.map(|(account, region)| (account.to_owned(), region.to_owned())),
            name: name.to_owned(),
            is_arn: false,
            is_token: false,
            version: version.filter(|version| *version != CURRENT).map(str::to_owned),
        }
    }

    /// Whether the container reads the current version. An older one outlives the removal of a token from the secret.
    pub fn is_current(&self) -> bool {
        self.version.is_none()
    }

    /// Whether the container reads the key `token`.
    pub fn is_token(&self) -> bool {
        self.is_token
    }

    /// Whether the secret may be in this account and region.
    pub fn is_in(&self, account: &str, region: &str) -> bool {
        self.place.as_ref().is_none_or(|(own_account, own_region)| own_account == account && own_region == region)
    }

    /// Whether both refer to one secret, in any version. A bare name is one of this account and region.
    pub fn is_same_secret_as(&self, other: &Self, account: &str, region: &str) -> bool {
        let place = |reference: &Self| reference.place.clone().unwrap_or((account.to_owned(), region.to_owned()));
        place(self) == place(other) && (self.is_to(&other.name) || other.is_to(&self.name))
    }

    /// Whether the secret's name begins so.
    pub fn starts_with(&self, prefix: &str) -> bool {
        self.name.starts_with(prefix)
    }

    /// Whether the reference has exactly this name, without random characters.
    pub fn is_exactly(&self, name: &str) -> bool {
        self.name == name
    }

    /// Whether the secret's name is `name`.
    pub fn is_to(&self, name: &str) -> bool {
        self.spelling_of(name) == Some(name)
    }

    /// The secret's name, if it is `name` ignoring case.
    pub fn spelling_of(&self, name: &str) -> Option<&str> {
        let (spelling, rest) = self.name.split_at_checked(name.len())?;
        let has_random_characters = || {
            rest.strip_prefix('-').is_some_and(|suffix| {
                suffix.len() == ARN_SUFFIX_LENGTH && suffix.bytes().all(|b| b.is_ascii_alphanumeric())
            })
        };
        let is_whole = rest.is_empty() || self.is_arn && has_random_characters();
        (is_whole && spelling.eq_ignore_ascii_case(name)).then_some(spelling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:secretsmanager:us-east-1:123456789012:secret";

    fn parse(value_from: &str) -> SecretReference {
        SecretReference::parse(value_from).unwrap()
    }

    #[test]
    fn all_forms_name_the_secret() {
        for form in [
            format!("{ARN}:mesh-web-AbCdEf"),
            format!("{ARN}:mesh-web-AbCdEf:token::"),
            format!("{ARN}:mesh-web-AbCdEf:token:AWSCURRENT:"),
            format!("{ARN}:mesh-web"),
            format!("{ARN}:mesh-web:token::"),
            "mesh-web".to_owned(),
            "mesh-web:token::".to_owned(),
            "/aws/reference/secretsmanager/mesh-web".to_owned(),
            "arn:aws:ssm:us-east-1:123456789012:parameter/aws/reference/secretsmanager/mesh-web".to_owned(),
        ] {
            let reference = parse(&form);
            assert!(reference.is_to("mesh-web") && reference.is_current(), "{form}");
            assert!(reference.is_in("123456789012", "us-east-1"), "{form}");
            assert!(!reference.is_to("mesh") && !reference.is_to("mesh-web-1"), "{form}");
        }
    }

    #[test]
    fn random_characters_are_part_of_an_arn_only() {
        assert!(!parse("mesh-web-AbCdEf").is_to("mesh-web"), "the name of another secret");
        assert!(!parse(&format!("{ARN}:mesh-web-abc")).is_to("mesh-web"), "fewer than six characters");
        assert!(parse(&format!("{ARN}:mesh-web-abcdef")).is_to("mesh-web-abcdef"), "an ARN without them");
    }

    #[test]
    fn arn_and_name_are_the_same_secret_in_one_place() {
        let full = parse(&format!("{ARN}:mesh-web-AbCdEf:token::"));
        let same = |other: &SecretReference, account| full.is_same_secret_as(other, account, "us-east-1");
        assert!(same(&parse("mesh-web"), "123456789012") && same(&parse(&format!("{ARN}:mesh-web")), "123456789012"));
        assert!(!same(&parse("mesh-web"), "999999999999"), "a bare name is one of the own account");
        assert!(!same(&parse("mesh-api"), "123456789012"));
    }

    #[test]
    fn named_version_is_not_the_current_one() {
        for form in [
            format!("{ARN}:mesh-web-AbCdEf:token:AWSPREVIOUS:"),
            format!("{ARN}:mesh-web-AbCdEf:token::01234567-89ab-cdef-0123-456789abcdef"),
            "/aws/reference/secretsmanager/mesh-web:AWSPREVIOUS".to_owned(),
        ] {
            assert!(!parse(&form).is_current(), "{form}");
        }
    }

    #[test]
    fn secret_of_another_account_or_region_is_elsewhere() {
        let reference = parse(&format!("{ARN}:mesh-web-AbCdEf"));
        assert!(!reference.is_in("999999999999", "us-east-1") && !reference.is_in("123456789012", "eu-west-1"));
    }

    #[test]
    fn other_references_are_not_secrets() {
        for form in ["/app/db", "arn:aws:ssm:us-east-1:123456789012:parameter/app/db", "arn:aws:s3:::bucket/key"] {
            assert_eq!(SecretReference::parse(form), None, "{form}");
        }
    }
}
