//! The body of an answer, up to a limit: a server that never stops sending would fill the memory until the time limit.

use reqwest::Response;

/// How much is read of an answer that need not be read whole, such as the text of an error: messages show 300 characters of Consul's,
/// and AWS's codes and messages are shorter than this.
const BEGINNING: usize = 64 << 10;

/// How long an answer may be, by how it is read. The smaller function, `task-events`, has 256 MB of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// An answer that is held whole. The largest are a page of EC2 or of `DescribeTasks`, and the answer of a function, which Lambda
    /// limits to 6 MB.
    Whole,
    /// A list that grows with the number of tasks, and is held whole: the services of the node of a cluster with 50,000 tasks have
    /// 90 to 130 MB, by their upstreams. One that never ends does not fill the memory of `task-events`.
    List,
    /// A list that is parsed while it arrives: 450,000 ACL tokens. Only its wanted elements are held.
    Stream,
}

impl Limit {
    /// In bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Whole => 32 << 20,
            Self::List => 128 << 20,
            Self::Stream => 256 << 20,
        }
    }

    /// In MiB.
    pub const fn mebibytes(self) -> usize {
        self.bytes() >> 20
    }
}

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The connection failed, or time ran out.
    #[error(transparent)]
    Failed(#[from] reqwest::Error),
    #[error("the answer is longer than the limit of {} MiB", .0.mebibytes())]
    TooLarge(Limit),
}

/// The body of an answer, which arrives in parts.
pub struct Body {
    answer: Response,
    limit: Limit,
    /// How many more bytes are read.
    left: usize,
}

impl Body {
    pub fn of(answer: Response, limit: Limit) -> Self {
        Self { answer, limit, left: limit.bytes() }
    }

    /// The next part; `None` after the last one.
    ///
    /// # Errors
    /// The connection failed, or the answer is too large.
    pub async fn part(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, BodyError> {
        let Some(part) = self.answer.chunk().await? else { return Ok(None) };
        self.left = self.left.checked_sub(part.len()).ok_or(BodyError::TooLarge(self.limit))?;
        Ok(Some(part))
    }

    /// All of it.
    ///
    /// # Errors
    /// The connection failed, or the answer is too large.
    pub async fn whole(mut self) -> Result<Vec<u8>, BodyError> {
        let mut whole = Vec::new();
        while let Some(part) = self.part().await? {
            whole.extend_from_slice(part.as_ref());
        }
        Ok(whole)
    }
}

/// The beginning of an answer. The rest is not read: an error stays one, however long its text is.
///
/// # Errors
/// The connection failed.
pub async fn beginning(mut answer: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut read = Vec::new();
    while read.len() < BEGINNING {
        let Some(part) = answer.chunk().await? else { break };
        read.extend(part.iter().take(BEGINNING - read.len()));
    }
    Ok(read)
}
