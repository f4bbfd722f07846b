//! A directory of files that is deleted after the test.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

/// A separate directory for each test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates a directory with these files.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("audit-inputs-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = Self(std::env::temp_dir().join(name));
        for (name, bytes) in files {
            let path = folder.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        folder
    }

    /// The path of a file in it; its own path, if `name` is empty.
    pub(crate) fn path(&self, name: &str) -> String {
        let path = if name.is_empty() { self.0.clone() } else { self.0.join(name) };
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
