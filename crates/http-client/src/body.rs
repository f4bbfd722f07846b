//! The body of an answer, up to a limit: a server that never stops sending would fill the memory until the time limit.

use reqwest::Response;

/// The most of one answer that is read, in MiB: half of the memory of `reconcile`. The largest answer for 10,000 tasks is the list of
/// 50,000 ACL tokens: 25 MB.
pub const LARGEST_ANSWER: usize = 256;

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The connection failed, or time ran out.
    #[error(transparent)]
    Failed(#[from] reqwest::Error),
    #[error("the answer is longer than the limit of {LARGEST_ANSWER} MiB")]
    TooLarge,
}

/// The body of an answer, which arrives in parts.
pub struct Body {
    answer: Response,
    /// How many more bytes are read.
    left: usize,
}

impl Body {
    pub fn of(answer: Response) -> Self {
        Self { answer, left: LARGEST_ANSWER << 20 }
    }

    /// The next part; `None` after the last one.
    ///
    /// # Errors
    /// The connection failed, or the answer is too large.
    pub async fn part(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, BodyError> {
        let Some(part) = self.answer.chunk().await? else { return Ok(None) };
        self.left = self.left.checked_sub(part.len()).ok_or(BodyError::TooLarge)?;
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
