//! The directory that `cdk synth` writes, usually `cdk.out`. Source:
//! <https://docs.aws.amazon.com/cdk/v2/guide/configure-synth.html>

use ignore::DirEntry;

/// A file in every cloud assembly, with its version.
const MARK: &str = "cdk.out";

/// Whether an entry of a directory is to be read: in a cloud assembly, only templates and the nested assemblies of
/// stages. Its other files describe the constructs again or are assets, copies of the project's own files.
pub(super) fn is_read(entry: &DirEntry) -> bool {
    let is_in_assembly = entry.depth() > 0 && entry.path().parent().is_some_and(|parent| parent.join(MARK).is_file());
    let name = entry.file_name().to_string_lossy();
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    !is_in_assembly || if is_directory { name.starts_with("assembly-") } else { name.ends_with(".template.json") }
}
