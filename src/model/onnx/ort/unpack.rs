//! Lays the model's files into a folder, for a runtime that reads files only.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::super::graph::{GRAPH, weights};
use super::{Error, Model, Result};

/// Bytes compared at a time.
const BLOCK: usize = 1 << 16;

/// Writes the graph and its weights to a folder of the model's own under `folder`, and gives the graph's path. A file
/// that is there is compared byte for byte and left if it is right; else it is replaced at once, never seen half written.
pub(super) fn unpack(model: &Model, folder: &Path) -> Result<PathBuf> {
    let folder = folder.join(format!("{}-{}", model.name, model.sha256.get(..8).unwrap_or_default()));
    fs::create_dir_all(&folder).map_err(|source| Error::Io { act: "make the folder", path: folder.clone(), source })?;
    let [graph, data] = model.files.map(|(name, _)| folder.join(name));
    for (path, bytes) in [(&graph, GRAPH), (&data, weights())] {
        if !holds(path, bytes) {
            write(&folder, path, bytes).map_err(|source| Error::Io { act: "write", path: path.clone(), source })?;
        }
    }
    Ok(graph)
}

/// Whether the file is readable and holds exactly these bytes.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    if !file.metadata().is_ok_and(|facts| facts.is_file() && facts.len() == bytes.len() as u64) {
        return false;
    }
    let mut block = vec![0; BLOCK];
    bytes.chunks(BLOCK).all(|want| {
        let block = &mut block[..want.len()];
        file.read_exact(block).is_ok() && block == want
    })
}

fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::registry;

    #[test]
    fn files_are_written_once_and_mended() {
        let model = registry::built_in().expect("onnx is on");
        let folder = tempfile::tempdir().expect("a folder");
        let graph = unpack(model, folder.path()).expect("unpacked");
        let data = graph.with_file_name("model.onnx.data");
        assert!(holds(&graph, GRAPH) && holds(&data, weights()));
        let written = |path: &Path| fs::metadata(path).and_then(|facts| facts.modified()).expect("a time");
        let before = (written(&graph), written(&data));
        // The middle of one file changes, and the other is cut.
        let mut changed = GRAPH.to_vec();
        changed[GRAPH.len() / 2] ^= 1;
        fs::write(&graph, &changed).expect("written");
        assert_eq!(unpack(model, folder.path()).expect("mended"), graph);
        assert!(holds(&graph, GRAPH));
        assert_eq!(written(&data), before.1);
        File::options().write(true).open(&data).and_then(|file| file.set_len(100)).expect("cut");
        unpack(model, folder.path()).expect("mended");
        assert!(holds(&data, weights()));
        assert_eq!(fs::read_dir(graph.parent().expect("a folder")).expect("readable").count(), 2);
    }

    #[test]
    fn a_folder_that_cannot_be_is_an_error_with_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        let error = unpack(registry::built_in().expect("onnx is on"), &file).unwrap_err();
        assert!(error.to_string().starts_with("cannot make the folder `"), "{error}");
    }
}
