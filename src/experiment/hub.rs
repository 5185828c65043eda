//! Where a model folder is: a path, or an id on the Hugging Face hub such as `Qwen/Qwen2.5-0.5B-Instruct`.

use anyhow::Result;
use std::borrow::Cow;
use std::path::{Component, Path};

/// The folder of a path or an id. What is no folder and cannot be an id is returned as it is, for its
/// files to be missed by name.
///
/// # Errors
/// When an id is given and the files cannot be had.
pub(super) fn folder(path: &Path) -> Result<Cow<'_, Path>> {
    match id(path).filter(|_| !path.exists()) {
        Some((owner, name)) => fetch(owner, name).map(Cow::Owned),
        None => Ok(Cow::Borrowed(path)),
    }
}

/// Owner and name, of a relative path of two plain parts.
fn id(path: &Path) -> Option<(&str, &str)> {
    let mut parts = path.components();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(Component::Normal(owner)), Some(Component::Normal(name)), None) => {
            owner.to_str().zip(name.to_str())
        }
        _ => None,
    }
}

#[cfg(not(feature = "hub"))]
fn fetch(owner: &str, name: &str) -> Result<std::path::PathBuf> {
    anyhow::bail!(
        "{owner}/{name}: no such folder; to take it for the id of a model on the Hugging Face hub, build with --features \
         hub"
    )
}

/// Brings what is needed of a model into the cache of the hub's own tools, and says where it lies there.
/// With `HF_HUB_OFFLINE` set it only looks there.
#[cfg(feature = "hub")]
fn fetch(owner: &str, name: &str) -> Result<std::path::PathBuf> {
    let offline =
        std::env::var("HF_HUB_OFFLINE").is_ok_and(|value| !["", "0"].contains(&value.as_str()));
    let needed = ["*.json", "*.safetensors", "*.jinja", "merges.txt"]
        .map(ToOwned::to_owned)
        .into();
    let download = || {
        let client = hf_hub::HFClientSync::new()?;
        let model = client.model(owner, name);
        let snapshot = model.snapshot_download();
        snapshot
            .allow_patterns(needed)
            .local_files_only(offline)
            .progress(bar::Bar::new())
            .send()
    };
    download().map_err(|e: hf_hub::HFError| {
        let what = match offline {
            true => "not in the cache of the hub, and HF_HUB_OFFLINE is set",
            false => "no such folder, and it cannot be downloaded from the Hugging Face hub",
        };
        // the innermost of the errors says what happened, the others repeat it with the address
        let e = anyhow::Error::new(e);
        anyhow::anyhow!("{owner}/{name}: {what}: {}", e.root_cause())
    })
}

#[cfg(feature = "hub")]
mod bar {
    //! The download as a progress bar.

    use hf_hub::progress::{DownloadEvent, ProgressEvent, ProgressHandler};
    use indicatif::{ProgressBar, ProgressStyle};
    use std::collections::HashMap;
    use std::sync::Mutex;

    pub(super) struct Bar {
        bar: ProgressBar,
        /// Bytes of each file so far.
        files: Mutex<HashMap<String, u64>>,
    }

    impl Bar {
        pub(super) fn new() -> Self {
            let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes}, {eta} left")
                .expect("the template is well formed");
            Self {
                bar: ProgressBar::no_length().with_style(style),
                files: Mutex::default(),
            }
        }
    }

    impl ProgressHandler for Bar {
        fn on_progress(&self, event: &ProgressEvent) {
            let ProgressEvent::Download(event) = event else {
                return;
            };
            match event {
                DownloadEvent::Start { total_bytes, .. } => self.bar.set_length(*total_bytes),
                DownloadEvent::Progress { files } => {
                    let mut known = self.files.lock().expect("no holder panics");
                    for file in files {
                        known.insert(file.filename.clone(), file.bytes_completed);
                    }
                    self.bar.set_position(known.values().sum());
                }
                DownloadEvent::AggregateProgress {
                    bytes_completed, ..
                } => self.bar.set_position(*bytes_completed),
                DownloadEvent::Complete => self.bar.finish_and_clear(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_relative_and_of_two_parts() {
        assert_eq!(
            id(Path::new("Qwen/Qwen3-0.6B")),
            Some(("Qwen", "Qwen3-0.6B"))
        );
        for path in [
            "/models/tiny",
            "tiny",
            "../models/tiny",
            "./models",
            "a/b/c",
            "",
        ] {
            assert_eq!(id(Path::new(path)), None, "{path}");
        }
        assert_eq!(
            folder(Path::new("/no/such")).unwrap(),
            Path::new("/no/such")
        );
    }

    #[cfg(not(feature = "hub"))]
    #[test]
    fn without_the_feature_an_id_is_one_clear_error() {
        let error = folder(Path::new("Qwen/none")).unwrap_err().to_string();
        assert!(
            error.contains("Qwen/none: no such folder") && error.contains("--features hub"),
            "{error}"
        );
    }
}
