//! What an audit found, in every format.

mod build;
mod concise;
mod excerpt;
mod fingerprint;
mod format;
mod github;
mod gitlab;
mod html;
mod inline;
mod json;
mod junit;
mod lines;
mod markdown;
mod medium;
mod model;
mod page;
mod render;
mod sarif;
mod secret;
mod secret_span;
mod summary;
mod text;
mod threshold;

pub use self::{
    build::clean,
    excerpt::Excerpt,
    format::Format,
    medium::Medium,
    model::{Counts, Definition, Report, Reported, ReportedNote},
    page::{DOCS, page},
    render::RenderError,
    threshold::Threshold,
};
